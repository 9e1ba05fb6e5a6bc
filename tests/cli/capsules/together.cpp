// SPDX-License-Identifier: Apache-2.0
// Processes frames together, and gives the same result for each. If "lies" is set, the result is
// the number of frames.
#include <chrono>
#include <thread>

#include "vcap/capsule.hpp"

namespace {

vcap::DetectionNodes found(std::size_t count) {
  vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
  nodes.add({.name = "together",
             .coords = vcap::rect_to_coords(cv::Rect(0, 0, 9, 9)),
             .extra_data = {{"count", count}}});
  return nodes;
}

class Backend final : public vcap::Backend {
 public:
  explicit Backend(bool lies) : lies_(lies) {}
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    // Takes so long that other frames arrive meanwhile.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return found(1);
  }
  std::optional<std::vector<vcap::DetectionNodes>> process_frames(
      std::span<const vcap::Frame> frames, std::span<vcap::DetectionNodes>,
      const vcap::OptionValues&, vcap::BaseStreamState&) override {
    return std::vector<vcap::DetectionNodes>(frames.size(), found(lies_ ? frames.size() : 1));
  }

 private:
  const bool lies_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "together",
            .version = 1,
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"together"},
                            .extra_data = {"count"}},
            .config_schema = {{"type", "object"},
                              {"properties", {{"lies", {{"type", "boolean"}, {"default", false}}}}},
                              {"additionalProperties", false}},
            .batch = vcap::BatchSizes{.maximum = 8}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(config().at("lies").get<bool>());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
