// SPDX-License-Identifier: Apache-2.0
#include <vcap/capsule.hpp>

#include <opencv2/core.hpp>

namespace {

class Backend final : public vcap::BaseBackend<cv::Mat, double> {
 public:
  explicit Backend(std::string label) : label_(std::move(label)) {}

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    nodes.add({.name = "picture",
               .coords = vcap::rect_to_coords(cv::Rect({0, 0}, frame.image.size())),
               .extra_data = {{label_, predict(frame.image)}}});
    return nodes;
  }

  std::vector<double> batch_predict(std::span<const cv::Mat> images) override {
    std::vector<double> means;
    for (const cv::Mat& image : images) means.push_back(cv::mean(image)[0]);
    return means;
  }

 private:
  std::string label_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "brightness",
            .version = 1,
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"picture"},
                            .extra_data = {"bright"}}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string&) override {
    std::string label(files.text("label.txt"));
    label.resize(label.find_last_not_of('\n') + 1);
    return std::make_unique<Backend>(label);
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
