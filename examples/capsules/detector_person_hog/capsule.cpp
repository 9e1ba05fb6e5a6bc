// SPDX-License-Identifier: Apache-2.0
//
// Finds people with the detector that comes with OpenCV: histograms of oriented gradients and a
// linear SVM (N. Dalal, B. Triggs, "Histograms of oriented gradients for human detection", 2005).
#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <thread>
#include <tuple>
#include <vcap/capsule.hpp>

namespace {

struct Person {
  cv::Rect2d box;
  double margin;  // of the SVM: the distance from its plane, on the side of people
};
using People = std::vector<Person>;

// Margins have no upper limit; this maps them into 0…1 and keeps their order. The default threshold
// of 0.5 corresponds to a margin of 0.55.
double confidence(const Person& person) { return std::tanh(person.margin); }

// The part of HOG's window that a person fills. In its training pictures, people stand in the
// middle of the window with a margin around them.
cv::Rect2d person_within(const cv::Rect& window) {
  constexpr double width = 0.5, height = 0.75;
  return {window.x + window.width * (1 - width) / 2, window.y + window.height * (1 - height) / 2,
          window.width * width, window.height * height};
}

int max_side_length(const vcap::OptionValues& options) {
  if (!options.get<bool>("scale_frame")) return std::numeric_limits<int>::max();
  return options.get<int>("scale_frame_max_side_length");
}

// A batch takes as long as its pictures one by one. So there is one worker per thread of the
// machine, and batches are small: when one ends, the others continue.
vcap::BatchPolicy one_worker_a_thread() {
  return {.max_batch_size = 4, .workers = std::clamp(std::thread::hardware_concurrency(), 1u, 64u)};
}

class Backend final : public vcap::BaseBackend<cv::Mat, People> {
 public:
  Backend() : BaseBackend(one_worker_a_thread()) {
    hog_.setSVMDetector(cv::HOGDescriptor::getDefaultPeopleDetector());
  }

  // [process]
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState&) override {
    const auto threshold = options.get<double>("threshold");
    const int max_side = max_side_length(options);
    const vcap::Clamp clamp(frame.image, max_side, max_side);

    vcap::DetectionNodes people = vcap::DetectionNodes::all();
    for (const Person& person : predict(clamp.image())) {
      if (confidence(person) < threshold) continue;
      people.add({.name = "person",
                  .coords = vcap::rect_to_coords(person.box),
                  .extra_data = {{"detection_confidence", confidence(person)}}});
    }
    return clamp.scale_nodes(std::move(people));
  }
  // [/process]

  // [batch]
  std::vector<People> batch_predict(std::span<const cv::Mat> images) override {
    std::vector<People> found;
    for (const cv::Mat& image : images) found.push_back(detect(image));
    return found;
  }
  // [/batch]

 private:
  // Thread safety: thread-safe, since the descriptor is only read.
  People detect(const cv::Mat& image) const {
    constexpr double step = 1.05, similarity = 0.2;
    constexpr int min_neighbors = 2;
    std::vector<cv::Rect> boxes;
    std::vector<double> margins;
    double scale = 1;
    for (int level = 0; level < hog_.nlevels && search(image, scale, boxes, margins); ++level)
      scale *= step;
    hog_.groupRectangles(boxes, margins, min_neighbors, similarity);
    People people;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const cv::Rect box = boxes[i] & cv::Rect({}, image.size());
      if (!box.empty()) people.push_back({person_within(box), margins[i]});
    }
    std::ranges::sort(people, {}, [](const Person& person) {
      return std::tuple(-person.margin, person.box.x, person.box.y, person.box.width);
    });
    return people;
  }

  // Adds the windows with people in the copy of `image` that is `scale` times smaller. Returns
  // false if that copy is smaller than a window: OpenCV would write beyond its memory.
  //
  // Why not detectMultiScale(): it searches the scales in parallel and stores the windows of each,
  // then their margins. Now and then another scale gets between, and windows get wrong margins.
  bool search(const cv::Mat& image, double scale, std::vector<cv::Rect>& boxes,
              std::vector<double>& margins) const {
    const cv::Size size(cvRound(image.cols / scale), cvRound(image.rows / scale));
    if (size.width < hog_.winSize.width || size.height < hog_.winSize.height) return false;
    cv::Mat smaller = image;
    if (size != image.size()) cv::resize(image, smaller, size, 0, 0, cv::INTER_LINEAR_EXACT);
    constexpr double hit_threshold = 0;
    constexpr int stride = 8, padding = 8;
    std::vector<cv::Point> corners;
    std::vector<double> found;
    hog_.detect(smaller, corners, found, hit_threshold, {stride, stride}, {padding, padding});
    for (const cv::Point& corner : corners)
      boxes.emplace_back(cvRound(corner.x * scale), cvRound(corner.y * scale),
                         cvRound(hog_.winSize.width * scale), cvRound(hog_.winSize.height * scale));
    margins.insert(margins.end(), found.begin(), found.end());
    return true;
  }

  cv::HOGDescriptor hog_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  // [info]
  static vcap::CapsuleInfo info() {
    return {.name = "detector_person_hog",
            .version = 1,
            .description = "Finds standing people, at least 100 pixels tall",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"person"},
                            .extra_data = {"detection_confidence"}},
            .options = options()};
  }
  // [/info]

  // [options]
  static vcap::Options options() {
    vcap::Options options = vcap::common_detector_options();
    options["scale_frame"] = vcap::BoolOption{
        .description = "Search a smaller copy of large frames: faster, but misses small people"};
    options["scale_frame_max_side_length"] =
        vcap::IntOption{.default_value = 960,
                        .min = 128,
                        .max = 8192,
                        .description = "The longer side of that copy, in pixels"};
    return options;
  }
  // [/options]

  // [load]
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
  // [/load]
};

}  // namespace

VCAP_CAPSULE(Capsule)
