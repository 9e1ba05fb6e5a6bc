// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/non_max_suppression.hpp"

#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "algorithms/box_raster.hpp"
#include "algorithms/scored_boxes.hpp"
#include "base/text.hpp"
#include "vcap/algorithms/iou.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr const char* kNms = "non_max_suppression";

void check(std::size_t boxes, std::span<const double> scores, double max_overlap) {
  check_share(kNms, "max_overlap", max_overlap);
  check_count(kNms, "scores", scores.size(), boxes);
  check_scores(kNms, scores);
}

/// Marks the boxes that stay; `order` has them by falling score.
void suppress(std::span<const BoundingBox> boxes, std::span<const std::size_t> order,
              double max_overlap, std::vector<bool>& stays) {
  BoxRaster kept(boxes, order);
  for (const std::size_t index : order) {
    const BoundingBox& box = boxes[index];
    if (has_area(box)) {
      if (kept.any_near(box, max_overlap,
                        [&](std::size_t other) { return iou(boxes[other], box) > max_overlap; }))
        continue;
      kept.add(index);
    }
    stays[index] = true;
  }
}

std::vector<double> confidences(const DetectionNodes& nodes) {
  std::vector<double> scores;
  scores.reserve(nodes.size());
  for (const DetectionNode& node : nodes) {
    const std::optional<double> confidence = node.confidence();
    if (!confidence)
      throw InvalidArgument(
          ErrorCode::invalid_node,
          "non_max_suppression: node " + std::to_string(scores.size()) + " (" + quote(node.name) +
              ") has neither \"detection_confidence\" nor \"confidence\" in its extra_data; set "
              "one of them, or give the scores");
    scores.push_back(*confidence);
  }
  return scores;
}

}  // namespace

std::vector<std::size_t> non_max_suppression(std::span<const BoundingBox> boxes,
                                             std::span<const double> scores, double max_overlap) {
  check(boxes.size(), scores, max_overlap);
  std::vector<std::size_t> order = by_falling_score(scores);
  std::vector<bool> stays(boxes.size());
  suppress(boxes, order, max_overlap, stays);
  std::erase_if(order, [&](std::size_t index) { return !stays[index]; });
  return order;
}

std::vector<std::size_t> non_max_suppression(std::span<const BoundingBox> boxes,
                                             std::span<const double> scores,
                                             std::span<const std::size_t> labels,
                                             double max_overlap) {
  check(boxes.size(), scores, max_overlap);
  check_count(kNms, "labels", labels.size(), boxes.size());
  std::vector<std::size_t> order = by_falling_score(scores);
  std::vector<bool> stays(boxes.size());
  for (const std::vector<std::size_t>& group : grouped_by_label(order, labels))
    suppress(boxes, group, max_overlap, stays);
  std::erase_if(order, [&](std::size_t index) { return !stays[index]; });
  return order;
}

DetectionNodes non_max_suppression(DetectionNodes nodes, std::span<const double> scores,
                                   double max_overlap) {
  std::vector<BoundingBox> boxes;
  boxes.reserve(nodes.size());
  for (const DetectionNode& node : nodes) boxes.push_back(node.bbox());
  const std::vector<std::size_t> kept = non_max_suppression(boxes, scores, max_overlap);
  if (nodes.kind() != NodeDescription::Size::all) return nodes;

  DetectionNodes result = DetectionNodes::all();
  for (const std::size_t index : kept) result.add(std::move(nodes[index]));
  return result;
}

DetectionNodes non_max_suppression(DetectionNodes nodes, double max_overlap) {
  if (nodes.kind() != NodeDescription::Size::all) {
    check(0, {}, max_overlap);
    return nodes;
  }
  const std::vector<double> scores = confidences(nodes);
  return non_max_suppression(std::move(nodes), scores, max_overlap);
}

}  // namespace vcap
