// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/non_max_suppression.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/algorithms/iou.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The boxes kept so far by their left edge, so that a box is compared only with those that it may
/// overlap enough.
class KeptBoxes {
 public:
  KeptBoxes(std::span<const BoundingBox> boxes, double max_overlap)
      : boxes_(boxes), max_overlap_(max_overlap) {
    for (const BoundingBox& box : boxes_) widest_ = std::max(widest_, box.width());
  }

  bool overlaps(const BoundingBox& box) const {
    // A kept box of width w that overlaps this one begins after x1 - w, and as the IoU of two boxes
    // is never above the ratio of their widths, w < width / max_overlap where the IoU is above it.
    // The factor covers the rounding of all that.
    const double reach = std::min(widest_, box.width() / max_overlap_) * (1 + 1e-9);
    const auto end = by_left_.lower_bound(box.x2);
    for (auto kept = by_left_.lower_bound(box.x1 - reach); kept != end; ++kept)
      if (iou(boxes_[kept->second], box) > max_overlap_) return true;
    return false;
  }

  void keep(std::size_t index) { by_left_.emplace(boxes_[index].x1, index); }

 private:
  std::span<const BoundingBox> boxes_;
  double max_overlap_;
  double widest_ = 0;
  std::multimap<double, std::size_t> by_left_;
};

void check(std::size_t boxes, std::span<const double> scores, double max_overlap) {
  const auto fail = [](const std::string& what) {
    throw InvalidArgument(ErrorCode::invalid_argument, "non_max_suppression: " + what);
  };
  if (!(max_overlap >= 0 && max_overlap <= 1))
    fail("max_overlap " + number_text(max_overlap) + " is not within 0 to 1");
  if (scores.size() != boxes)
    fail(std::to_string(scores.size()) + " scores for " + std::to_string(boxes) +
         " boxes; give one for each");
  const auto bad = std::ranges::find_if(scores, [](double score) { return std::isnan(score); });
  if (bad != scores.end())
    fail("score " + std::to_string(std::distance(scores.begin(), bad)) +
         " is not a number and has no place in the order; leave its box out");
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
  std::vector<std::size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [scores](std::size_t i) { return scores[i]; });

  KeptBoxes kept(boxes, max_overlap);
  std::vector<std::size_t> result;
  for (const std::size_t index : order) {
    const BoundingBox& box = boxes[index];
    // No box overlaps one without area (see iou), and one that is NaN has no place in the map.
    const bool has_area = box.width() > 0 && box.height() > 0;
    if (has_area && kept.overlaps(box)) continue;
    if (has_area) kept.keep(index);
    result.push_back(index);
  }
  return result;
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
