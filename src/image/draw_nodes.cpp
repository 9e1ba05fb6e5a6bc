// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/draw_nodes.hpp"

#include "image/drawing.hpp"
#include "vcap/image/box_annotator.hpp"
#include "vcap/image/label_annotator.hpp"
#include "vcap/image/polygon_annotator.hpp"

namespace vcap {

void draw_nodes(cv::Mat& image, std::span<const DetectionNode> nodes, const DrawOptions& options) {
  const AnnotatorStyle style{
      .children = options.children, .color_by = options.color_by, .scale = options.scale};
  check_canvas(image, "draw_nodes");
  check_style(style, "draw_nodes");
  // All outlines first, so that no outline crosses a label.
  if (options.boxes) BoxAnnotator({.style = style}).annotate(image, nodes);
  if (options.polygons)
    PolygonAnnotator({.upright_boxes = !options.boxes, .style = style}).annotate(image, nodes);
  LabelAnnotator({.names = options.names,
                  .confidence = options.confidence,
                  .track_ids = options.track_ids,
                  .attributes = options.attributes,
                  .style = style})
      .annotate(image, nodes);
}

}  // namespace vcap
