// SPDX-License-Identifier: Apache-2.0
//
// Finds cuts: frames whose colours differ from those of the frames before, and stay different. The
// distance of two pictures is that of their colour histograms, since moving things do not change
// these much (H. Zhang, A. Kankanhalli, S. Smoliar, "Automatic partitioning of full-motion video",
// 1993). It is the Hellinger distance: 0 for equal histograms, 1 if they share no colour. OpenCV
// calls it the Bhattacharyya distance.
#include <array>
#include <opencv2/imgproc.hpp>
#include <vcap/capsule.hpp>

namespace {

// How many pixels of the frame have each colour: 16 hues, 4 saturations, 8 values.
cv::Mat histogram(const vcap::Frame& frame) {
  constexpr int max_side = 160;  // a smaller picture averages pixels, which removes noise
  cv::Mat hsv;
  cv::cvtColor(vcap::Clamp(frame.image, max_side, max_side).image(), hsv, cv::COLOR_BGR2HSV);
  constexpr std::array channels{0, 1, 2}, bins{16, 4, 8};
  constexpr std::array hues{0.f, 180.f}, others{0.f, 256.f};
  std::array ranges{hues.data(), others.data(), others.data()};
  cv::Mat histogram;
  cv::calcHist(&hsv, 1, channels.data(), cv::noArray(), histogram, 3, bins.data(), ranges.data());
  return histogram;
}

double distance(const cv::Mat& one, const cv::Mat& other) {
  return cv::compareHist(one, other, cv::HISTCMP_BHATTACHARYYA);
}

class Backend final : public vcap::Backend {
 public:
  // [window]
  vcap::DetectionNodes process_window(std::span<const vcap::Frame> frames,
                                      std::span<vcap::DetectionNodes>,
                                      const vcap::OptionValues& options,
                                      vcap::BaseStreamState&) override {
    const auto threshold = options.get<double>("threshold");
    const cv::Mat now = histogram(frames[2]);
    const auto differs = [&](const vcap::Frame& frame) {
      return distance(histogram(frame), now) >= threshold;
    };
    const double score = distance(histogram(frames[1]), now);

    vcap::DetectionNodes changes = vcap::DetectionNodes::all();
    // A flash is no cut: at its start, the frame after it differs; at its end, an earlier frame is
    // equal.
    if (score >= threshold && differs(frames[0]) && !differs(frames[3]))
      changes.add({.name = "scene_change",
                   .coords = vcap::rect_to_coords(cv::Rect2d({}, frames[2].image.size())),
                   .extra_data = {{"score", score}}});
    return changes;
  }
  // [/window]
};

class Capsule final : public vcap::BaseCapsule {
 public:
  // [info]
  static vcap::CapsuleInfo info() {
    return {.name = "scene_change",
            .version = 1,
            .description = "Finds the first frame after each cut",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"scene_change"},
                            .extra_data = {"score"}},
            .options = {{"threshold",
                         vcap::FloatOption{
                             .default_value = 0.25,
                             .min = 0.01,
                             .max = 1,
                             .description = "The least distance between the colours of two scenes, "
                                            "from 0 (the same) to 1 (none in common)"}}},
            .stencil = vcap::Stencil{.offsets = {-2, -1, 0, 1}, .edge = vcap::StencilEdge::repeat}};
  }
  // [/info]

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
