// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/polygon_annotator.hpp"

#include <utility>

#include "image/drawing.hpp"

namespace vcap {

PolygonAnnotator::PolygonAnnotator(PolygonSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "PolygonAnnotator");
}

PolygonAnnotator::~PolygonAnnotator() = default;

void PolygonAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  const int width = line_width(scale_for(settings_.style, image.size()));
  visit(nodes, settings_.style, [&](const DetectionNode& node) {
    if (!settings_.upright_boxes && is_upright_box(node.coords, node.bbox())) return;
    draw_outline(image, node.coords, color_of(node, settings_.style.color_by), width);
  });
}

}  // namespace vcap
