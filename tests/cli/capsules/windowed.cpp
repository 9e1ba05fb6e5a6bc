// SPDX-License-Identifier: Apache-2.0
// Tells which frames it saw together: "0 1", "-" for a null frame. If "lies" is set, all windows of
// one call give what the first of them saw.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "vcap/capsule.hpp"

namespace {

vcap::DetectionNodes seen_in(std::span<const vcap::Frame> frames) {
  std::string seen;
  for (const vcap::Frame& frame : frames) {
    if (!seen.empty()) seen += ' ';
    seen += frame.is_null ? "-" : std::to_string(frame.index);
  }
  vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
  nodes.add({.name = "window", .extra_data = {{"seen", seen}}});
  return nodes;
}

class Backend final : public vcap::Backend {
 public:
  explicit Backend(bool lies) : lies_(lies) {}
  vcap::DetectionNodes process_window(std::span<const vcap::Frame> frames,
                                      std::span<vcap::DetectionNodes>, const vcap::OptionValues&,
                                      vcap::BaseStreamState&) override {
    // Takes so long that other frames arrive meanwhile.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return seen_in(frames);
  }
  std::optional<std::vector<vcap::DetectionNodes>> process_windows(
      std::span<const vcap::FrameWindow> windows, const vcap::OptionValues&,
      vcap::BaseStreamState&) override {
    std::vector<vcap::DetectionNodes> seen;
    for (const vcap::FrameWindow& window : windows)
      seen.push_back(seen_in(lies_ ? windows.front().frames : window.frames));
    return seen;
  }

 private:
  const bool lies_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "windowed",
            .version = 1,
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"window"},
                            .extra_data = {"seen"}},
            .config_schema = {{"type", "object"},
                              {"properties", {{"lies", {{"type", "boolean"}, {"default", false}}}}},
                              {"additionalProperties", false}},
            .batch = vcap::BatchSizes{.maximum = 8},
            .stencil = vcap::Stencil{.offsets = {-1, 0}}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(config().at("lies").get<bool>());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
