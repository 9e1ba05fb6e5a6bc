// SPDX-License-Identifier: Apache-2.0
// Takes all persons and gives a mask, bright in every pixel. With the config {"lies": true} its
// brightness is the number of calls so far, and so depends on more than the frame.
#include <atomic>

#include "vcap/capsule.hpp"

namespace {

class Backend final : public vcap::Backend {
 public:
  explicit Backend(bool lies) : lies_(lies) {}

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    const int brightness = lies_ ? calls_++ % 200 : 200;
    vcap::DetectionNodes output;
    output.give_picture("mask", cv::Mat(frame.image.size(), CV_8UC1, cv::Scalar(brightness)));
    return output;
  }

 private:
  const bool lies_;
  std::atomic<int> calls_{0};
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "masker",
            .version = 1,
            .input_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}},
            .gives_pictures = {{.name = "mask", .type = CV_8UC1}}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(config().value("lies", false));
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
