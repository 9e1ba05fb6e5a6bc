// SPDX-License-Identifier: Apache-2.0
// Finds the frame, and tells how many frames it has seen: at most five, as its warm-up says. As its
// config says, it takes some time for each frame, and ends the process at a frame.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "vcap/capsule.hpp"

namespace {

constexpr std::int64_t kWarmup = 5;

struct State final : vcap::BaseStreamState {
  std::int64_t seen = 0;
};

class Backend final : public vcap::Backend {
 public:
  explicit Backend(const vcap::JsonValue& config)
      : delay_(config.at("delay_us").get<std::int64_t>()),
        abort_at_(config.at("abort_at")),
        exit_at_(config.at("exit_at")) {}
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    if (frame.index == abort_at_) std::_Exit(1);
    if (frame.index == exit_at_) std::exit(0);
    std::this_thread::sleep_for(delay_);
    std::int64_t& seen = static_cast<State&>(state).seen;
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    nodes.add({.name = "steady",
               .coords = vcap::rect_to_coords(cv::Rect(cv::Point(), frame.image.size())),
               .extra_data = {{"seen", std::min(seen, kWarmup)}}});
    ++seen;
    return nodes;
  }

 private:
  const std::chrono::microseconds delay_;
  const std::int64_t abort_at_;
  const std::int64_t exit_at_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "steady",
            .version = 1,
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"steady"},
                            .extra_data = {"seen"}},
            .config_schema = {{"type", "object"},
                              {"properties",
                               {{"delay_us", {{"type", "integer"}, {"default", 0}}},
                                {"abort_at", {{"type", "integer"}, {"default", -1}}},
                                {"exit_at", {{"type", "integer"}, {"default", -1}}}}},
                              {"additionalProperties", false}},
            .stream_state = vcap::make_stream_state<State>(),
            .warmup = kWarmup};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(config());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
