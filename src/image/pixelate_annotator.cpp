// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/pixelate_annotator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "image/drawing.hpp"

namespace vcap {
namespace {

void pixelate_region(cv::Mat region, int cells) {
  const double scale = std::min(1.0, cells / double(std::max(region.cols, region.rows)));
  const cv::Size few(std::max(1, static_cast<int>(std::lround(region.cols * scale))),
                     std::max(1, static_cast<int>(std::lround(region.rows * scale))));
  cv::Mat small;
  cv::resize(region, small, few, 0, 0, cv::INTER_AREA);
  cv::resize(small, region, region.size(), 0, 0, cv::INTER_NEAREST);
}

}  // namespace

PixelateAnnotator::PixelateAnnotator(PixelateSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "PixelateAnnotator");
  check_setting(settings_.cells, 1, 64, "PixelateAnnotator", "the number of cells");
  check_setting(settings_.margin, 0, 10, "PixelateAnnotator", "the margin");
}

PixelateAnnotator::~PixelateAnnotator() = default;

void PixelateAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  std::vector<cv::Rect> regions;
  visit(nodes, settings_.style, [&](const DetectionNode& node) {
    const cv::Rect region = region_of(node.bbox(), settings_.margin, image.size());
    if (!region.empty()) regions.push_back(region);
  });
  // What lies within another region is hidden with it, in larger squares.
  for (const cv::Rect& region : outer_regions(std::move(regions)))
    pixelate_region(image(region), settings_.cells);
}

}  // namespace vcap
