// SPDX-License-Identifier: Apache-2.0
#include <vcap/capsule.hpp>

#include "start/brightness.hpp"

namespace {

class Backend final : public vcap::BaseBackend<cv::Mat, double> {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    nodes.add({.name = "picture",
               .coords = vcap::rect_to_coords(cv::Rect({0, 0}, frame.image.size())),
               .extra_data = {{"brightness", predict(frame.image)}}});
    return nodes;
  }
  std::vector<double> batch_predict(std::span<const cv::Mat> pictures) override {
    std::vector<double> means;
    for (const cv::Mat& one : pictures) means.push_back(vcap::bench::start::brightness(one));
    return means;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "brightness",
            .version = 1,
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"picture"},
                            .extra_data = {"brightness"}}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
