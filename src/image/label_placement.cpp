// SPDX-License-Identifier: Apache-2.0
#include "image/label_placement.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "image/box_cover.hpp"

namespace vcap {
namespace {

/// A label covers other boxes, or its own one, as unwillingly as it leaves the best place for one
/// that is ranked lower by this.
constexpr double kCoverRank = 0.8;
/// The rank of a place away from the box, beside that of its ring: as bad as hiding one box.
constexpr double kAwayRank = 0.8;
/// That of a line that passes below another label.
constexpr double kCrossingRank = 0.6;
/// Lines keep the places free that are this far apart, in pixels.
constexpr int kLineStep = 6;

/// Rings around the box, in which labels stand with a line to it.
constexpr int kLabelRings = 5;
/// How much worse a ring is than the one before.
constexpr double kRingRank = 0.1;
/// Rows within a large box, from its top.
constexpr int kLabelRows = 6;

/// A place for a label.
struct LabelPlace {
  cv::Point at;
  double rank = 0;  ///< 0 is the best
};

/// What new patches must not cover, by the cells of a grid that it touches: the patches so far,
/// which do not overlap, and points of lines. So a cell has few of them.
class PlacedPatches {
 public:
  explicit PlacedPatches(cv::Size image)
      : cell_(std::max(32, std::max(image.width, image.height) / 64)),
        columns_(image.width / cell_ + 1),
        cells_(static_cast<std::size_t>(columns_ * (image.height / cell_ + 1))) {}

  /// Whether a patch is there, or only a pixel away.
  bool is_taken(const cv::Rect& patch) const {
    const cv::Rect wide(patch.x - 1, patch.y - 1, patch.width + 2, patch.height + 2);
    return !visit(patch, [&wide](const std::vector<cv::Rect>& cell) {
      return std::ranges::none_of(
          cell, [&wide](const cv::Rect& other) { return !(wide & other).empty(); });
    });
  }

  void add(const cv::Rect& patch) {
    // With the pixel around it, so that is_taken() need not look into the cells around its own.
    visit(cv::Rect(patch.x - 1, patch.y - 1, patch.width + 2, patch.height + 2),
          [this, &patch](const std::vector<cv::Rect>& cell) {
            cells_[static_cast<std::size_t>(&cell - cells_.data())].push_back(patch);
            return true;
          });
  }

 private:
  /// Visits the cells that the rectangle touches until the action gives false; false if it did.
  template <class Action>
  bool visit(const cv::Rect& rect, const Action& action) const {
    const int rows = static_cast<int>(cells_.size()) / columns_;
    const int right = std::min((rect.x + rect.width - 1) / cell_, columns_ - 1);
    const int bottom = std::min((rect.y + rect.height - 1) / cell_, rows - 1);
    for (int y = std::max(rect.y, 0) / cell_; y <= bottom; ++y)
      for (int x = std::max(rect.x, 0) / cell_; x <= right; ++x)
        if (!action(cells_[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns_) +
                           static_cast<std::size_t>(x)]))
          return false;
    return true;
  }

  int cell_, columns_;
  std::vector<std::vector<cv::Rect>> cells_;
};

/// The places at the visible part of a box. The index of a place is the same for all boxes.
std::vector<LabelPlace> places_at(const cv::Rect& box, cv::Size label) {
  const int right = box.x + box.width - label.width, bottom = box.y + box.height;
  const int middle = box.x + (box.width - label.width) / 2;
  std::vector<LabelPlace> places{{{box.x, box.y - label.height}, 0},
                                 {{right, box.y - label.height}, 0.1},
                                 {{middle, box.y - label.height}, 0.12},
                                 {{box.x, box.y}, 0.2},
                                 {{box.x, bottom}, 0.3},
                                 {{right, bottom}, 0.34},
                                 {{middle, bottom}, 0.36},
                                 {{right, box.y}, 0.4},
                                 {{box.x + box.width, box.y}, 0.45},
                                 {{box.x - label.width, box.y}, 0.5},
                                 {{box.x, bottom - label.height}, 0.55},
                                 {{right, bottom - label.height}, 0.6},
                                 {{box.x + box.width, bottom - label.height}, 0.65},
                                 {{box.x - label.width, bottom - label.height}, 0.7}};
  for (int row = 1; row <= kLabelRows; ++row) {
    const int y = box.y + row * (label.height + 1);
    places.push_back({{box.x, y}, 0.7 + 0.05 * row});
    places.push_back({{box.x + box.width, y}, 0.72 + 0.05 * row});
    places.push_back({{box.x - label.width, y}, 0.74 + 0.05 * row});
  }
  return places;
}

/// The places around a box, at a distance that grows with the ring: rows above and below, and a fan
/// at either side.
std::vector<LabelPlace> places_around(const cv::Rect& box, cv::Size label, int ring) {
  const int column = label.width + 2, row = label.height + 2;
  const int middle = box.x + (box.width - label.width) / 2;
  const int level = box.y + (box.height - label.height) / 2;
  const int above = box.y - label.height - ring * row, below = box.y + box.height + ring * row;
  std::vector<LabelPlace> places;
  double rank = kRingRank * ring;
  for (const int y : {above, below})
    for (const int x :
         {middle, box.x, box.x + box.width - label.width, middle - column, middle + column})
      places.push_back({{x, y}, rank += 0.01});
  for (const int y : {level - ring * row, level + ring * row})
    for (const int x : {box.x + box.width + row, box.x - label.width - row})
      places.push_back({{x, y}, rank += 0.01});
  return places;
}

/// Moves a label along the edge of the image that its box reaches.
int within(int at, int length, int image) { return std::clamp(at, 0, image - length); }

bool touches(const cv::Rect& patch, const cv::Rect& box) {
  return !(cv::Rect(patch.x - 1, patch.y - 1, patch.width + 2, patch.height + 2) & box).empty();
}

/// Places labels one after the other.
class LabelPlacer {
 public:
  LabelPlacer(std::span<const cv::Rect> boxes, cv::Size image)
      : image_(image), cover_(boxes, image), patches_(image) {}

  std::optional<PlacedLabel> place(const LabelRequest& request) {
    const cv::Rect box = request.box & cv::Rect({}, image_);
    for (std::size_t text = 0; text < request.sizes.size(); ++text) {
      Choice choice = choose_at(request, box, text);
      // Rings do not become better with their distance, so the first that has a place is enough.
      for (int ring = 1; ring <= kLabelRings && choice.score > kAwayRank + ring * kRingRank; ++ring)
        if (choose_around(request, box, text, ring, choice)) break;
      if (!choice.label) continue;
      patches_.add(choice.label->patch);
      if (choice.label->leader)
        for (const cv::Point& point : line_points(*choice.label))
          patches_.add({point.x - 1, point.y - 1, 3, 3});
      return choice.label;
    }
    return std::nullopt;
  }

 private:
  /// The best place so far.
  struct Choice {
    std::optional<PlacedLabel> label;
    double score = std::numeric_limits<double>::infinity();
  };

  /// At the box, or within.
  Choice choose_at(const LabelRequest& request, const cv::Rect& box, std::size_t text) const {
    const cv::Size size = request.sizes[text];
    const std::vector<LabelPlace> places = places_at(box, size);
    Choice best;
    for (std::size_t i = 0; i < places.size(); ++i) {
      // Beside the box it must not be moved over the box, nor the other way round.
      const cv::Rect wanted(places[i].at, size);
      const cv::Rect patch({within(wanted.x, size.width, image_.width),
                            within(wanted.y, size.height, image_.height)},
                           size);
      if ((wanted & box).empty() != (patch & box).empty() || !touches(patch, box)) continue;
      if (patches_.is_taken(patch)) continue;
      const int index = static_cast<int>(i);
      const double score =
          request.place == index ? 0 : places[i].rank + cover_rank(patch, request.box, box);
      if (score >= best.score && request.place != index) continue;
      best = {PlacedLabel{.patch = patch, .text = text, .place = index}, score};
      if (request.place == index) break;
    }
    return best;
  }

  /// Away from the box. Whether the ring has a free place; `best` is replaced by a better one.
  bool choose_around(const LabelRequest& request, const cv::Rect& box, std::size_t text, int ring,
                     Choice& best) const {
    const cv::Size size = request.sizes[text];
    bool is_free = false;
    for (const LabelPlace& place : places_around(box, size, ring)) {
      const cv::Rect patch(place.at, size);
      if ((patch & cv::Rect({}, image_)) != patch || patches_.is_taken(patch)) continue;
      PlacedLabel label{.patch = patch, .text = text, .place = -1, .leader = nearest(box, patch)};
      const bool is_crossing = std::ranges::any_of(line_points(label), [this](cv::Point point) {
        return patches_.is_taken({point, cv::Size(1, 1)});
      });
      is_free = is_free || !is_crossing;
      const double score = kAwayRank + place.rank + cover_rank(patch, request.box, box) +
                           (is_crossing ? kCrossingRank : 0);
      if (score < best.score) best = {label, score};
    }
    return is_free;
  }

  /// Points of the line between a label and its box.
  static std::vector<cv::Point> line_points(const PlacedLabel& label) {
    const cv::Point from = *label.leader, to = end_of_line(label);
    const int steps = std::max(std::abs(to.x - from.x), std::abs(to.y - from.y)) / kLineStep;
    std::vector<cv::Point> points;
    for (int i = 0; i <= steps; ++i) points.push_back(from + (to - from) * i / std::max(1, steps));
    return points;
  }

  /// Worse, the more it hides of its own box and of others. Others count by the part of the label
  /// that is over them, or by what is hidden of them together as a share of its own box.
  double cover_rank(const cv::Rect& patch, const cv::Rect& own, const cv::Rect& visible) const {
    const double mean = cover_.by_others(patch, own);
    const double hidden = mean * patch.area() / std::max(visible.area(), patch.area() / 4);
    return kCoverRank * (std::min(1.0, std::max(mean / 2, hidden)) +
                         (patch & visible).area() / double(visible.area()));
  }

  /// The box's point that is nearest to the middle of the patch.
  static cv::Point nearest(const cv::Rect& box, const cv::Rect& patch) {
    return {std::clamp(patch.x + patch.width / 2, box.x, box.x + box.width - 1),
            std::clamp(patch.y + patch.height / 2, box.y, box.y + box.height - 1)};
  }

  cv::Size image_;
  BoxCover cover_;
  PlacedPatches patches_;
};

}  // namespace

cv::Point end_of_line(const PlacedLabel& label) {
  const cv::Rect& patch = label.patch;
  return {std::clamp(label.leader->x, patch.x, patch.x + patch.width - 1),
          std::clamp(label.leader->y, patch.y, patch.y + patch.height - 1)};
}

std::vector<std::optional<PlacedLabel>> place_labels(std::span<const LabelRequest> requests,
                                                     cv::Size image) {
  std::vector<cv::Rect> boxes;
  boxes.reserve(requests.size());
  for (const LabelRequest& request : requests) boxes.push_back(request.box);
  LabelPlacer placer(boxes, image);
  std::vector<std::optional<PlacedLabel>> placed;
  placed.reserve(requests.size());
  for (const LabelRequest& request : requests) placed.push_back(placer.place(request));
  return placed;
}

}  // namespace vcap
