// SPDX-License-Identifier: Apache-2.0
//
// The shortest complete capsule; the README shows it. detector_person_hog uses the same detector,
// with more options and with confidences.
// [capsule]
#include <algorithm>
#include <opencv2/objdetect.hpp>
#include <tuple>
#include <vcap/capsule.hpp>

class Backend final : public vcap::BaseBackend<cv::Mat, std::vector<cv::Rect>> {
 public:
  Backend() { hog_.setSVMDetector(cv::HOGDescriptor::getDefaultPeopleDetector()); }

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState&) override {
    vcap::DetectionNodes people = vcap::DetectionNodes::all();
    for (const cv::Rect& box : send_to_batch(frame.image).get())
      if (box.height >= options.get<int>("min_height"))
        people.add({.name = "person", .coords = vcap::rect_to_coords(box)});
    return people;
  }

  std::vector<std::vector<cv::Rect>> batch_predict(std::span<const cv::Mat> images) override {
    std::vector<std::vector<cv::Rect>> found(images.size());
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].cols < hog_.winSize.width || images[i].rows < hog_.winSize.height) continue;
      hog_.detectMultiScale(images[i], found[i]);
      // OpenCV searches the scales in parallel, so the order of its results is not fixed.
      std::ranges::sort(found[i], {}, [](const cv::Rect& box) {
        return std::tuple(box.x, box.y, box.width, box.height);
      });
    }
    return found;
  }

 private:
  cv::HOGDescriptor hog_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "quickstart",
            .version = 1,
            .description = "Finds standing people",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}},
            .options = {{"min_height", vcap::IntOption{.default_value = 96, .min = 64}}},
            .device_mapper = vcap::DeviceMapper::map_to_single_cpu()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

VCAP_CAPSULE(Capsule)
// [/capsule]
