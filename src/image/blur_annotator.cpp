// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/blur_annotator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "image/drawing.hpp"

namespace vcap {
namespace {

void blur_region(cv::Mat region, double strength) {
  const double size = strength * std::max(region.cols, region.rows);
  // The box filter has about half of the Gaussian's whole width, which is `size`.
  const int side = 2 * std::max(1, static_cast<int>(std::lround(size / 4))) + 1;
  for (int i = 0; i < 3; ++i)
    cv::blur(region, region, {side, side}, {-1, -1}, cv::BORDER_REPLICATE | cv::BORDER_ISOLATED);
}

}  // namespace

BlurAnnotator::BlurAnnotator(BlurSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "BlurAnnotator");
  check_setting(settings_.strength, 0.01, 1, "BlurAnnotator", "the strength");
  check_setting(settings_.margin, 0, 10, "BlurAnnotator", "the margin");
}

BlurAnnotator::~BlurAnnotator() = default;

void BlurAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  std::vector<cv::Rect> regions;
  visit(nodes, settings_.style, [&](const DetectionNode& node) {
    const cv::Rect region = region_of(node.bbox(), settings_.margin, image.size());
    if (!region.empty()) regions.push_back(region);
  });
  // What lies within another region is blurred with it, and by more.
  for (const cv::Rect& region : outer_regions(std::move(regions)))
    blur_region(image(region), settings_.strength);
}

}  // namespace vcap
