// SPDX-License-Identifier: Apache-2.0
// Reports how many frames it has seen: at most three, as its declared warm-up says. If "lies" is
// set, it counts all frames, and its declaration is false.
#include <algorithm>

#include "vcap/capsule.hpp"

namespace {

constexpr std::int64_t kWarmup = 3;

struct State final : vcap::BaseStreamState {
  std::int64_t seen = 0;
};

class Backend final : public vcap::Backend {
 public:
  explicit Backend(bool lies) : lies_(lies) {}
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    std::int64_t& seen = static_cast<State&>(state).seen;
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    nodes.add({.name = "recent",
               .coords = vcap::rect_to_coords(cv::Rect(cv::Point(), frame.image.size())),
               .extra_data = {{"seen", lies_ ? seen : std::min(seen, kWarmup)}}});
    ++seen;
    return nodes;
  }

 private:
  const bool lies_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "recent",
            .version = 1,
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"recent"},
                            .extra_data = {"seen"}},
            .config_schema = {{"type", "object"},
                              {"properties", {{"lies", {{"type", "boolean"}, {"default", false}}}}},
                              {"additionalProperties", false}},
            .stream_state = vcap::make_stream_state<State>(),
            .warmup = kWarmup};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(config().at("lies").get<bool>());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
