// SPDX-License-Identifier: Apache-2.0
// Counts the frames of a stream, also over a change of its worker. At a frame given by its option
// it ends the process. Version 3 fails at each tenth frame.
#include <cstdlib>
#include <stdexcept>

#include "vcap/capsule.hpp"

#ifndef VISITS_VERSION
#define VISITS_VERSION 1
#endif

namespace {

struct State final : vcap::BaseStreamState {
  explicit State(const vcap::StreamInfo& info)
      : frames(info.saved.is_null() ? 0 : info.saved.at("frames").get<std::int64_t>()) {}
  nlohmann::json save() const override { return {{"frames", frames}}; }
  std::int64_t frames;
};

class Backend final : public vcap::Backend {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState& state) override {
    std::int64_t& frames = vcap::state_of<State>(state).frames;
    if (frames == options.get<std::int64_t>("exit_at")) std::_Exit(1);
    if (VISITS_VERSION == 3 && frames % 10 == 9) {
      ++frames;
      throw std::runtime_error("the tenth frame");
    }
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    nodes.add({.name = "visit", .extra_data = {{"frames", ++frames}}});
    return nodes;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "visits",
            .version = VISITS_VERSION,
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"visit"},
                            .extra_data = {"frames"}},
            .options = {{"exit_at", vcap::IntOption{.default_value = -1}}},
            .stream_state = vcap::make_stream_state<State>(),
            .keeps_state_at = {vcap::Discontinuity::reconnect, vcap::Discontinuity::gap}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
