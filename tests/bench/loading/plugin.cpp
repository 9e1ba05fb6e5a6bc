// SPDX-License-Identifier: Apache-2.0
// A capsule with the least code possible.
#include "vcap/capsule.hpp"

namespace {

class Backend final : public vcap::Backend {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    return vcap::DetectionNodes::all();
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "small",
            .version = 1,
            .description = "Finds nothing.",
            .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
