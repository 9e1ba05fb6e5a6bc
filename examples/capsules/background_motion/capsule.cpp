// SPDX-License-Identifier: Apache-2.0
//
// Finds what is not of the background: pixels that fit none of the colours that they usually have
// (Z. Zivkovic, F. van der Heijden, "Efficient adaptive density estimation per image pixel for the
// task of background subtraction", 2006), as it comes with OpenCV.
#include <opencv2/imgproc.hpp>
#include <opencv2/video/background_segm.hpp>
#include <utility>
#include <vcap/capsule.hpp>

namespace {

constexpr int kPeriod = 150;  // frames: six seconds, at 25 a second

// [state]
// What the background of one stream looks like.
//
// Such a model never quite forgets: the weight of a frame fades, but a trace of it stays. Results
// would depend on all frames before, and no part of a video could be run by itself. So a model is
// made wherever a period begins, at the frames whose index is a multiple of its length; it learns
// in that one, is asked in the next one, and is dropped. What two models have seen is two periods
// of frames at most, and which frames these are depends on their index alone.
class Background final : public vcap::BaseStreamState {
 public:
  // 255 where the stream's next picture is not as the background is, 0 elsewhere.
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
  // The last one's answer stands: in the first period it is that of the model that is learning.
  for (const Model& model : {learning_, learnt_}) {
    if (!model) continue;
    model->setVarThreshold(threshold);  // asked of the answer; what is learnt goes without
    model->apply(picture, foreground);
  }
  if (is_first) foreground = 0;  // to a model that knows nothing all is new
  return foreground;
}

// The boxes of what hangs together, but for specks and what is smaller than the area.
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
    const cv::Mat1b foreground = dynamic_cast<Background&>(state).foreground(
        gray, frame.index, options.get<double>("threshold"));

    const double pixel = small.x_factor() * small.y_factor();  // of the small picture
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
            .description = "Finds what moves before a background that does not",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"moving"}},
            .options = options(),
            .stream_state = vcap::make_stream_state<Background>(),
            // The last frame of a period depends on all of it, and on all of the one before.
            .warmup = 2 * kPeriod - 1};
  }
  // [/info]

  static vcap::Options options() {
    return {{"threshold",
             vcap::FloatOption{.default_value = 16,
                               .min = 1,
                               .max = 1000,
                               .description = "How far from the background a pixel is at least, in "
                                              "squared standard deviations"}},
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
