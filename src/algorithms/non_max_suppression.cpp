// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/non_max_suppression.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/algorithms/iou.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

bool has_area(const BoundingBox& box) { return box.width() > 0 && box.height() > 0; }

/// One axis of a raster over the boxes' left-top corners.
class Axis {
 public:
  /// `begin` and `length` give those of a box on this axis.
  template <class Begin, class Length>
  Axis(std::span<const BoundingBox> boxes, std::size_t cells, Begin begin, Length length)
      : cells_(cells) {
    double last = -std::numeric_limits<double>::infinity();
    for (const BoundingBox& box : boxes) {
      if (!has_area(box)) continue;
      first_ = std::min(first_, begin(box));
      last = std::max(last, begin(box));
      longest_ = std::max(longest_, length(box));
    }
    cell_size_ = (last - first_) / static_cast<double>(cells);
  }

  /// Never falls as x rises, whatever x is: what lies between two places lies between their cells.
  std::size_t cell(double x) const {
    const double place = (x - first_) / cell_size_;
    if (!(place > 0)) return 0;  // NaN too: of boxes without end, or all at one place
    return place < static_cast<double>(cells_) ? static_cast<std::size_t>(place) : cells_ - 1;
  }

  /// How far before a box of that length another can begin whose IoU with it is above max_overlap.
  /// It must reach this one, and as an IoU is never above the ratio of the boxes' lengths, it is
  /// no longer than length / max_overlap. The factor covers the rounding of all that.
  double reach(double length, double max_overlap) const {
    return std::min(longest_, length / max_overlap) * (1 + 1e-9);
  }

 private:
  std::size_t cells_;
  double first_ = std::numeric_limits<double>::infinity();
  double longest_ = 0;
  double cell_size_ = 0;
};

/// The boxes kept so far in a raster by their left-top corners, so that a box is compared only with
/// those that are near enough. Takes boxes with an area only; no others overlap (see iou).
class KeptBoxes {
 public:
  KeptBoxes(std::span<const BoundingBox> boxes, double max_overlap)
      : boxes_(boxes),
        max_overlap_(max_overlap),
        // About one cell for each box.
        side_(static_cast<std::size_t>(std::sqrt(static_cast<double>(boxes.size()))) + 1),
        x_(boxes, side_, std::mem_fn(&BoundingBox::x1), std::mem_fn(&BoundingBox::width)),
        y_(boxes, side_, std::mem_fn(&BoundingBox::y1), std::mem_fn(&BoundingBox::height)),
        cells_(side_ * side_) {}

  bool overlaps(const BoundingBox& box) const {
    const std::size_t left = x_.cell(box.x1 - x_.reach(box.width(), max_overlap_));
    const std::size_t top = y_.cell(box.y1 - y_.reach(box.height(), max_overlap_));
    const std::size_t right = x_.cell(box.x2), bottom = y_.cell(box.y2);
    for (std::size_t row = top; row <= bottom; ++row)
      for (std::size_t column = left; column <= right; ++column)
        for (const std::size_t kept : cells_[row * side_ + column])
          if (iou(boxes_[kept], box) > max_overlap_) return true;
    return false;
  }

  void keep(std::size_t index) {
    const BoundingBox& box = boxes_[index];
    cells_[y_.cell(box.y1) * side_ + x_.cell(box.x1)].push_back(index);
  }

 private:
  std::span<const BoundingBox> boxes_;
  double max_overlap_;
  std::size_t side_;
  Axis x_, y_;
  std::vector<std::vector<std::size_t>> cells_;
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
    if (has_area(box)) {
      if (kept.overlaps(box)) continue;
      kept.keep(index);
    }
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
