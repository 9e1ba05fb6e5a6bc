// SPDX-License-Identifier: Apache-2.0
//
// Finds moving regions: pixels whose colour does not fit their usual colours, with the background
// subtractor of OpenCV (Z. Zivkovic, F. van der Heijden, "Efficient adaptive density estimation per
// image pixel for the task of background subtraction", 2006).
#include <opencv2/imgproc.hpp>
#include <opencv2/video/background_segm.hpp>
#include <utility>
#include <vcap/capsule.hpp>

namespace {

constexpr int kPeriod = 150;  // frames; six seconds at 25 per second

// [state]
// The background of one stream.
//
// The weight of a frame in such a model fades but never reaches zero. So with one model, results
// would depend on all frames before, and no part of a video could run by itself. Therefore each
// period has a new model; periods begin at frames whose index is a multiple of kPeriod. A model
// learns in its period, answers in the next one, and is then destroyed. So results depend on two
// periods of frames at most, and the index alone decides which frames these are.
class Background final : public vcap::BaseStreamState {
 public:
  // 255 where the next picture of the stream differs from the background, 0 elsewhere.
  cv::Mat1b foreground(const cv::Mat1b& picture, std::int64_t frame_index, double threshold);

 private:
  using Model = cv::Ptr<cv::BackgroundSubtractorMOG2>;

  cv::Size size_;
  std::int64_t period_ = -1;
  Model learning_, learnt_;
};
// [/state]

cv::Mat1b Background::foreground(const cv::Mat1b& picture, std::int64_t frame_index,
                                 double threshold) {
  if (picture.size() != std::exchange(size_, picture.size())) {
    learning_.reset();
    period_ = -1;
  }
  const bool is_first = !learning_;
  const std::int64_t period = frame_index / kPeriod;
  if (period != std::exchange(period_, period))
    learnt_ =
        std::exchange(learning_, cv::createBackgroundSubtractorMOG2(kPeriod, threshold, false));
  cv::Mat1b foreground;
  // The answer of the last model counts. In the first period, that is the model that is learning.
  for (const Model& model : {learning_, learnt_}) {
    if (!model) continue;
    model->setVarThreshold(threshold);  // affects the answer, not the learning
    model->apply(picture, foreground);
  }
  if (is_first) foreground = 0;  // a model without data reports everything as new
  return foreground;
}

// The boxes of connected regions, without specks and regions smaller than the area.
std::vector<cv::Rect> regions(const cv::Mat1b& foreground, double min_area) {
  cv::Mat1b clean;
  cv::morphologyEx(foreground, clean, cv::MORPH_OPEN,
                   cv::getStructuringElement(cv::MORPH_RECT, {3, 3}));
  cv::Mat1i labels, stats;
  cv::Mat1d centres;
  const int count = cv::connectedComponentsWithStats(clean, labels, stats, centres);
  std::vector<cv::Rect> boxes;
  for (int i = 1; i < count; ++i)  // 0 is the background
    if (stats(i, cv::CC_STAT_AREA) >= min_area)
      boxes.emplace_back(stats(i, cv::CC_STAT_LEFT), stats(i, cv::CC_STAT_TOP),
                         stats(i, cv::CC_STAT_WIDTH), stats(i, cv::CC_STAT_HEIGHT));
  return boxes;
}

class Backend final : public vcap::Backend {
 public:
  // [process]
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState& state) override {
    constexpr int max_side = 320;
    const vcap::Clamp small(frame.image, max_side, max_side);
    cv::Mat1b gray;
    cv::cvtColor(small.image(), gray, cv::COLOR_BGR2GRAY);
    const cv::Mat1b foreground = vcap::state_of<Background>(state).foreground(
        gray, frame.index, options.get<double>("threshold"));

    const double pixel = small.x_factor() * small.y_factor();  // its area in pixels of the frame
    const double min_area = static_cast<double>(options.get<std::int64_t>("min_area")) / pixel;
    vcap::DetectionNodes moving = vcap::DetectionNodes::all();
    for (const cv::Rect& box : regions(foreground, min_area))
      moving.add({.name = "moving", .coords = vcap::rect_to_coords(cv::Rect2d(box))});
    return small.scale_nodes(std::move(moving));
  }
  // [/process]
};

class Capsule final : public vcap::BaseCapsule {
 public:
  // [info]
  static vcap::CapsuleInfo info() {
    return {.name = "background_motion",
            .version = 1,
            .description = "Finds things that move in front of a still background",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"moving"}},
            .options = options(),
            .stream_state = vcap::make_stream_state<Background>(),
            // The last frame of a period depends on all frames of that period and the one before.
            .warmup = 2 * kPeriod - 1};
  }
  // [/info]

  static vcap::Options options() {
    return {{"threshold",
             vcap::FloatOption{.default_value = 16,
                               .min = 1,
                               .max = 1000,
                               .description =
                                   "The least distance of a moving pixel from the background, "
                                   "in squared standard deviations"}},
            {"min_area",
             vcap::IntOption{.default_value = 400,
                             .min = 1,
                             .max = 100'000'000,
                             .description = "The least area of a moving region, in pixels"}}};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
