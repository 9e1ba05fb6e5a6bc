// SPDX-License-Identifier: Apache-2.0
// Finds a person elsewhere in every call, so that no two runs have the same records.
#include <atomic>

#include "vcap/capsule.hpp"

namespace {

class Backend final : public vcap::Backend {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    const double x = 1 + calls_++;
    return vcap::DetectionNodes::all(
        {{.name = "person", .coords = vcap::rect_to_coords(cv::Rect2d(x, 2, 8, 8))}});
  }

 private:
  std::atomic<int> calls_{0};
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    using Size = vcap::NodeDescription::Size;
    return {.name = "fickle",
            .version = 1,
            .input_type = {.size = Size::none},
            .output_type = {.size = Size::all, .detections = {"person"}}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
