// SPDX-License-Identifier: Apache-2.0
//
// Makes faces and people unreadable: gives the frame as the picture "blurred", in which each of
// them is a few flat squares. It works behind any detector of faces or people, and changes no
// nodes. A detector misses a face on some frames. So what it finds on the frames shortly before and
// after a frame is hidden in that frame, too.
//   vcap run --capsule detector_face.cap --capsule privacy_blur.cap --source street.mp4
//            --video street_blurred.mp4 --picture blurred
#include <algorithm>
#include <cstddef>
#include <opencv2/imgproc.hpp>
#include <span>
#include <vcap/capsule.hpp>

namespace {

// Replaces the region by squares of one colour each, `cells` along its longer side. A square has
// the mean of its pixels, so what is within it cannot be restored, as it partly can after a blur.
void make_unreadable(cv::Mat& region, int cells) {
  const double scale =
      std::min(1.0, cells / static_cast<double>(std::max(region.cols, region.rows)));
  const cv::Size few(std::max(1, cvRound(region.cols * scale)),
                     std::max(1, cvRound(region.rows * scale)));
  cv::Mat small;
  cv::resize(region, small, few, 0, 0, cv::INTER_AREA);
  cv::resize(small, region, region.size(), 0, 0, cv::INTER_NEAREST);
}

// The node's box, larger by that share of it on each side, within the frame.
cv::Rect region_of(const vcap::DetectionNode& node, double margin, cv::Size frame) {
  const vcap::BoundingBox box = node.bbox();
  const double x = margin * (box.x2 - box.x1);
  const double y = margin * (box.y2 - box.y1);
  const cv::Point from(cvFloor(std::clamp(box.x1 - x, 0.0, double(frame.width))),
                       cvFloor(std::clamp(box.y1 - y, 0.0, double(frame.height))));
  const cv::Point to(cvCeil(std::clamp(box.x2 + x, 0.0, double(frame.width))),
                     cvCeil(std::clamp(box.y2 + y, 0.0, double(frame.height))));
  return {from, to};
}

// The five frames before a frame, and the five after it: a fifth of a second, as a rule. Nothing
// comes from beyond a cut. A host may choose others.
vcap::Stencil nearby_frames() {
  vcap::Stencil stencil{.edge = vcap::StencilEdge::null};
  for (int offset = -5; offset <= 5; ++offset) stencil.offsets.push_back(offset);
  return stencil;
}

class Backend final : public vcap::Backend {
 public:
  // `present`: the place of the present frame among those of a window.
  explicit Backend(std::size_t present) : present_(present) {}

  // [process]
  vcap::DetectionNodes process_window(std::span<const vcap::Frame> frames,
                                      std::span<vcap::DetectionNodes> nodes,
                                      const vcap::OptionValues& options,
                                      vcap::BaseStreamState&) override {
    const double margin = options.get<double>("margin");
    const int cells = options.get<int>("cells");
    cv::Mat blurred = frames[present_].image.clone();  // a frame's own pixels are never written
    for (const vcap::DetectionNodes& of_frame : nodes)
      for (const vcap::DetectionNode& node : of_frame) {
        if (node.coords.empty()) continue;
        cv::Mat region = blurred(region_of(node, margin, blurred.size()));
        if (!region.empty()) make_unreadable(region, cells);
      }
    vcap::DetectionNodes output = vcap::DetectionNodes::none();
    output.give_picture("blurred", blurred);
    return output;
  }
  // [/process]

 private:
  const std::size_t present_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  // [info]
  static vcap::CapsuleInfo info() {
    return {
        .name = "privacy_blur",
        .version = 1,
        .description = "Makes faces and people unreadable in the picture that it gives",
        .input_type = {.size = vcap::NodeDescription::Size::all, .detections = {"face", "person"}},
        .output_type = {.size = vcap::NodeDescription::Size::none},
        .gives_pictures = {{.name = "blurred", .type = CV_8UC3}},
        .options = options(),
        .stencil = nearby_frames()};
  }
  // [/info]

  static vcap::Options options() {
    return {{"margin", vcap::FloatOption{.default_value = 0.15,
                                         .min = 0.0,
                                         .max = 2.0,
                                         .description =
                                             "How far the squares reach beyond a box on each side, "
                                             "as a share of its width or height"}},
            {"cells", vcap::IntOption{.default_value = 5,
                                      .min = 1,
                                      .max = 64,
                                      .description = "Squares along the longer side of a region"}}};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    const std::vector<int>& offsets = stencil()->offsets;  // the host's, if it has chosen others
    const auto present = std::ranges::find(offsets, 0) - offsets.begin();
    return std::make_unique<Backend>(static_cast<std::size_t>(present));
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
