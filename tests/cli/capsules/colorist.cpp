// SPDX-License-Identifier: Apache-2.0
// Gives every person the color red and an encoding.
#include "vcap/capsule.hpp"

namespace {

class Backend final : public vcap::Backend {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    nodes.node().attributes["color"] = "red";
    nodes.node().encoding = {0.25F, 0.75F};
    return nodes;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    using Size = vcap::NodeDescription::Size;
    return {.name = "colorist",
            .version = 1,
            .input_type = {.size = Size::single, .detections = {"person"}},
            .output_type = {.size = Size::single,
                            .detections = {"person"},
                            .attributes = {{"color", {"red", "blue"}}},
                            .encoded = true},
            .recognition_threshold = 0.5};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
