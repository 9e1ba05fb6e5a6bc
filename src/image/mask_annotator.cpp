// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/mask_annotator.hpp"

#include <utility>

#include "image/drawing.hpp"

namespace vcap {

MaskAnnotator::MaskAnnotator(MaskSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "MaskAnnotator");
  check_setting(settings_.opacity, 0, 1, "MaskAnnotator", "the opacity");
}

MaskAnnotator::~MaskAnnotator() = default;

void MaskAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  // One layer for all nodes, so that the time depends little on their number and their size.
  cv::Mat layer;
  visit(nodes, settings_.style, [&](const DetectionNode& node) {
    if (node.coords.size() < 3) return;
    if (layer.empty()) layer = image.clone();
    fill_polygon(layer, node.coords, color_of(node, settings_.style.color_by));
  });
  if (!layer.empty()) mix(image, layer, settings_.opacity);
}

}  // namespace vcap
