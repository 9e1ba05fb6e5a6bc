// SPDX-License-Identifier: Apache-2.0
//
// Gives the motion of a picture since the one before it, and the regions that move, with the dense
// optical flow of OpenCV (T. Kroeger, R. Timofte, D. Dai, L. Van Gool, "Fast optical flow using
// dense inverse search", 2016).
#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>
#include <vcap/capsule.hpp>

namespace {

struct Region {
  cv::Rect box;
  cv::Point2d velocity;
};

// The flow needs at most this many pixels per side, and for its patches of 8 pixels at least so
// many. Each side is scaled separately, so that pictures of any shape are possible.
vcap::Resize reduced(const cv::Mat& picture) {
  constexpr int least = 16, most = 320;
  const double scale =
      std::min(1.0, most / static_cast<double>(std::max(picture.cols, picture.rows)));
  vcap::Resize small(picture);
  small.fit_exact({std::max(least, cvRound(picture.cols * scale)),
                   std::max(least, cvRound(picture.rows * scale))});
  return small;
}

cv::Mat1b gray(const vcap::Resize& small) {
  cv::Mat1b gray;
  cv::cvtColor(small.image(), gray, cv::COLOR_BGR2GRAY);
  return gray;
}

// The velocity of every pixel of the reduced picture, in pixels of the frame per second.
cv::Mat2f velocities(const vcap::Frame& before, const vcap::Frame& now, const vcap::Resize& small) {
  const double seconds = std::chrono::duration<double>(now.pts - before.pts).count();
  // If there is no frame before, the window has the frame itself in its place.
  if (seconds <= 0) return cv::Mat2f(small.image().size(), cv::Vec2f(0, 0));
  // It keeps scratch memory between calls, so each call has its own.
  const auto search = cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_MEDIUM);
  cv::Mat2f flow;
  // The flow backwards: from the places now to the places before.
  search->calc(gray(small), gray(reduced(before.image)), flow);
  const cv::Point2d a_second = small.to_frame({-1 / seconds, -1 / seconds});
  cv::multiply(flow, cv::Scalar(a_second.x, a_second.y), flow);
  return flow;
}

cv::Point2d mean(const cv::Mat2f& velocities, cv::InputArray where = cv::noArray()) {
  const cv::Scalar mean = cv::mean(velocities, where);
  return {mean[0], mean[1]};
}

std::vector<Region> moving_regions(const cv::Mat2f& velocities, double min_speed, double min_area) {
  std::vector<cv::Mat1f> axes;
  cv::split(velocities, axes);
  cv::Mat1f speeds;
  cv::magnitude(axes[0], axes[1], speeds);
  cv::Mat1i labels, stats;
  cv::Mat1d centres;
  const int count = cv::connectedComponentsWithStats(speeds >= min_speed, labels, stats, centres);
  std::vector<Region> regions;
  for (int i = 1; i < count; ++i) {  // 0 is the part that does not move
    if (stats(i, cv::CC_STAT_AREA) < min_area) continue;
    const cv::Rect box(stats(i, cv::CC_STAT_LEFT), stats(i, cv::CC_STAT_TOP),
                       stats(i, cv::CC_STAT_WIDTH), stats(i, cv::CC_STAT_HEIGHT));
    regions.push_back({box, mean(velocities(box), labels(box) == i)});
  }
  return regions;
}

vcap::DetectionNode node(const char* name, const Region& region) {
  return {.name = name,
          .coords = vcap::rect_to_coords(cv::Rect2d(region.box)),
          .extra_data = {{"pixels_per_second", {region.velocity.x, region.velocity.y}}}};
}

class Backend final : public vcap::Backend {
 public:
  // [window]
  vcap::DetectionNodes process_window(std::span<const vcap::Frame> frames,
                                      std::span<vcap::DetectionNodes>,
                                      const vcap::OptionValues& options,
                                      vcap::BaseStreamState&) override {
    const vcap::Frame& now = frames[1];
    // Pictures of two sizes cannot be compared, so the motion begins again if the size changes.
    const vcap::Frame& before = frames[0].image.size() == now.image.size() ? frames[0] : now;
    const vcap::Resize small = reduced(now.image);
    const cv::Mat2f velocity = velocities(before, now, small);

    const cv::Point2d pixel = small.to_frame({1, 1});  // size of a reduced pixel, in the frame
    const double min_area =
        static_cast<double>(options.get<std::int64_t>("min_area")) / (pixel.x * pixel.y);

    vcap::DetectionNodes motion = vcap::DetectionNodes::all();
    motion.add(node("motion", {cv::Rect({}, velocity.size()), mean(velocity)}));
    for (const Region& region :
         moving_regions(velocity, options.get<double>("min_speed"), min_area))
      motion.add(node("moving", region));
    return small.map_back(std::move(motion));
  }
  // [/window]
};

class Capsule final : public vcap::BaseCapsule {
 public:
  // [info]
  static vcap::CapsuleInfo info() {
    return {.name = "motion_flow",
            .version = 1,
            .description = "Measures the motion of the picture, and finds the moving regions",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"motion", "moving"},
                            .extra_data = {"pixels_per_second"}},
            .options = options(),
            .stencil = vcap::Stencil{.offsets = {-1, 0}, .edge = vcap::StencilEdge::repeat}};
  }
  // [/info]

  static vcap::Options options() {
    return {{"min_speed",
             vcap::FloatOption{
                 .default_value = 25,
                 .min = 1,
                 .max = 100'000,
                 .description = "The least speed of a moving region, in pixels a second"}},
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
