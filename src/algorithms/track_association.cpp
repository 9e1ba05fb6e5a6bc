// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/track_association.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "algorithms/association_checks.hpp"
#include "algorithms/matrix_size.hpp"
#include "algorithms/scored_boxes.hpp"
#include "base/text.hpp"
#include "vcap/algorithms/iou.hpp"
#include "vcap/algorithms/linear_assignment.hpp"

namespace vcap {
namespace {

constexpr const char* kAssociation = "track association";
constexpr double kForbidden = std::numeric_limits<double>::infinity();
// Every allowed pair costs less, so no allowed pair is left out without need.
constexpr double kCostAlone = 1;

/// Which rows and columns are connected by pairs below max_cost (disjoint sets, path halving).
class Groups {
 public:
  Groups(const cv::Mat1d& cost, double max_cost) : rows_(index(cost.rows)) {
    parent_.resize(rows_ + index(cost.cols));
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (int row = 0; row < cost.rows; ++row)
      for (int column = 0; column < cost.cols; ++column)
        if (cost(row, column) < max_cost) join(index(row), rows_ + index(column));
  }

  struct Group {
    std::vector<int> rows, columns;
  };

  /// The groups that have a row and a column.
  std::vector<Group> with_pairs() {
    std::vector<Group> groups(parent_.size());
    for (std::size_t i = 0; i < parent_.size(); ++i) {
      Group& group = groups[root(i)];
      if (i < rows_)
        group.rows.push_back(static_cast<int>(i));
      else
        group.columns.push_back(static_cast<int>(i - rows_));
    }
    std::erase_if(groups, [](const Group& g) { return g.rows.empty() || g.columns.empty(); });
    return groups;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

  std::size_t rows_;
  std::vector<std::size_t> parent_;
};

double length_of(std::span<const float> encoding) {
  double sum = 0;
  for (const float x : encoding) sum += static_cast<double>(x) * x;
  return std::sqrt(sum);
}

double cosine_distance(std::span<const float> a, std::span<const float> b, double lengths) {
  double dot = 0;
  for (std::size_t i = 0; i < a.size(); ++i) dot += static_cast<double>(a[i]) * b[i];
  return std::clamp(1 - dot / lengths, 0.0, 2.0);
}

BoundingBox grown(const BoundingBox& box, double x, double y) {
  return {box.x1 - x, box.y1 - y, box.x2 + x, box.y2 + y};
}

/// The IoU of both boxes, grown at each side by `deviation`, but by at most `max_growth` of the
/// smaller width or height.
double grown_iou(const BoundingBox& a, const BoundingBox& b, const cv::Vec2d& deviation,
                 double max_growth) {
  const double x = std::min(deviation[0], max_growth * std::min(a.width(), b.width()));
  const double y = std::min(deviation[1], max_growth * std::min(a.height(), b.height()));
  return iou(grown(a, x, y), grown(b, x, y));
}

/// A stage: some tracks with some detections, by their indices.
struct Stage {
  std::vector<std::size_t> tracks, detections;
};

/// Records the pairs, and removes them from the stage.
void note_pairs(const cv::Mat1d& cost, Stage& stage,
                std::vector<std::optional<std::size_t>>& track_of) {
  constexpr std::size_t kTaken = std::numeric_limits<std::size_t>::max();
  for (const auto& [row, column] : assign_below(cost, kCostAlone)) {
    std::size_t& track = stage.tracks[static_cast<std::size_t>(row)];
    std::size_t& detection = stage.detections[static_cast<std::size_t>(column)];
    track_of[detection] = track;
    track = detection = kTaken;
  }
  std::erase(stage.tracks, kTaken);
  std::erase(stage.detections, kTaken);
}

/// Costs of a stage: from boxes and encodings, or from boxes alone.
class Costs {
 public:
  Costs(std::span<const TrackView> tracks, std::span<const TrackedDetection> detections,
        const AssociationSettings& settings)
      : tracks_(tracks), detections_(detections), settings_(settings) {
    check_association(settings);
    check_encodings(tracks, detections);
    for (const TrackView& track : tracks) {
      boxes_.push_back(track.filter->box());
      deviations_.push_back(track.filter->centre_deviation());
      track_lengths_.push_back(length_of(track.encoding));
    }
    for (const TrackedDetection& detection : detections)
      lengths_.push_back(detection.encoding ? length_of(*detection.encoding) : 0);
  }

  cv::Mat1d fused(const Stage& stage, double min_iou) const {
    return matrix(stage, [&](std::size_t track, std::size_t detection) {
      return fused_cost(track, detection, min_iou);
    });
  }

  cv::Mat1d by_iou(const Stage& stage, double min_iou) const {
    return matrix(stage, [&](std::size_t track, std::size_t detection) {
      const double overlap = iou(boxes_[track], detections_[detection].box);
      return overlap > 0 && overlap >= min_iou ? 1 - overlap : kForbidden;
    });
  }

 private:
  template <class Cost>
  cv::Mat1d matrix(const Stage& stage, Cost cost_of) const {
    cv::Mat1d cost(matrix_side(stage.tracks.size(), "tracks"),
                   matrix_side(stage.detections.size(), "detections"));
    for (int row = 0; row < cost.rows; ++row) {
      const std::size_t track = stage.tracks[static_cast<std::size_t>(row)];
      for (int column = 0; column < cost.cols; ++column) {
        const std::size_t detection = stage.detections[static_cast<std::size_t>(column)];
        const bool is_same = tracks_[track].label == detections_[detection].label;
        cost(row, column) = is_same ? cost_of(track, detection) : kForbidden;
      }
    }
    return cost;
  }

  double fused_cost(std::size_t t, std::size_t d, double min_iou) const {
    const TrackView& track = tracks_[t];
    const TrackedDetection& detection = detections_[d];
    const double overlap =
        grown_iou(boxes_[t], detection.box, deviations_[t], settings_.max_growth);
    const bool overlaps = overlap > 0 && overlap >= min_iou;
    const double weight = settings_.appearance_weight;
    const bool has_looks = weight > 0 && detection.encoding && !track.encoding.empty();
    if (!has_looks) return overlaps ? 1 - overlap : kForbidden;
    const bool is_lost = track.state == TrackView::State::lost;
    const bool is_in_reach =
        overlaps || (is_lost && track.filter->centre_gating_distance(detection.box) <
                                    KalmanFilter::kCentreGate);
    if (!is_in_reach) return kForbidden;
    const double distance =
        cosine_distance(track.encoding, *detection.encoding, track_lengths_[t] * lengths_[d]);
    const double limit = settings_.max_appearance_distance;
    // If motion alone is not enough to decide, the encodings must agree.
    const bool is_sure = deviations_[t][0] < settings_.max_growth * boxes_[t].width() &&
                         iou(boxes_[t], detection.box) >= min_iou;
    if (distance > limit && !is_sure) return kForbidden;
    return (1 - weight) * (1 - overlap) + weight * std::min(1.0, distance / (2 * limit));
  }

  std::span<const TrackView> tracks_;
  std::span<const TrackedDetection> detections_;
  const AssociationSettings& settings_;
  std::vector<BoundingBox> boxes_;
  std::vector<cv::Vec2d> deviations_;
  std::vector<double> track_lengths_, lengths_;
};

}  // namespace

void check_association(const AssociationSettings& settings) {
  check_share(kAssociation, "high_confidence", settings.high_confidence);
  check_share(kAssociation, "low_confidence", settings.low_confidence);
  check_share(kAssociation, "min_iou", settings.min_iou);
  check_share(kAssociation, "min_iou_low", settings.min_iou_low);
  check_share(kAssociation, "min_iou_tentative", settings.min_iou_tentative);
  check_share(kAssociation, "appearance_weight", settings.appearance_weight);
  if (!(settings.max_growth >= 0) || !std::isfinite(settings.max_growth))
    refuse_argument(kAssociation, "max_growth " + number_text(settings.max_growth) +
                                      " is not a finite number of 0 or above");
  if (!(settings.max_appearance_distance > 0 && settings.max_appearance_distance <= 2))
    refuse_argument(kAssociation, "max_appearance_distance " +
                                      number_text(settings.max_appearance_distance) +
                                      " is not allowed; give a number above 0 and at most 2");
}

void check_encodings(std::span<const TrackView> tracks,
                     std::span<const TrackedDetection> detections) {
  std::optional<std::size_t> size;
  const auto check = [&](const std::string& what, std::span<const float> encoding) {
    if (size && encoding.size() != *size)
      refuse_argument(kAssociation, what + " has an encoding of " +
                                        std::to_string(encoding.size()) +
                                        " elements, but an earlier one has " +
                                        std::to_string(*size) + "; use one encoder");
    size = encoding.size();
    const double length = length_of(encoding);
    if (!(length > 0) || !std::isfinite(length))
      refuse_argument(kAssociation, what +
                                        " has an encoding that is all zeros or has an element that "
                                        "is not finite, so it has no direction; leave it out");
  };
  for (std::size_t i = 0; i < tracks.size(); ++i)
    if (!tracks[i].encoding.empty()) check("track " + std::to_string(i), tracks[i].encoding);
  for (std::size_t i = 0; i < detections.size(); ++i)
    if (detections[i].encoding) check("detection " + std::to_string(i), *detections[i].encoding);
}

std::vector<std::pair<int, int>> assign_below(const cv::Mat1d& cost, double max_cost) {
  if (!(std::abs(max_cost) <= 1e300))
    refuse_argument("assign_below", "max_cost " + number_text(max_cost) + " is not within ±1e300");
  for (int row = 0; row < cost.rows; ++row)
    for (int column = 0; column < cost.cols; ++column)
      if (!(cost(row, column) >= -1e300))
        refuse_argument("assign_below", "the cost of row " + std::to_string(row) + " and column " +
                                            std::to_string(column) + " is " +
                                            number_text(cost(row, column)) +
                                            "; costs are −1e300 or above");

  std::vector<std::pair<int, int>> pairs;
  for (const auto& [rows, columns] : Groups(cost, max_cost).with_pairs()) {
    // A cost above max_cost counts as max_cost, which is also the cost of staying alone. So each
    // result is a part of a complete assignment, and the cheapest complete one holds the cheapest
    // result.
    cv::Mat1d part(static_cast<int>(rows.size()), static_cast<int>(columns.size()));
    for (int i = 0; i < part.rows; ++i)
      for (int j = 0; j < part.cols; ++j)
        part(i, j) =
            std::min(cost(rows[static_cast<std::size_t>(i)], columns[static_cast<std::size_t>(j)]),
                     max_cost);
    for (const auto& [i, j] : linear_assignment(part))
      if (part(i, j) < max_cost)
        pairs.emplace_back(rows[static_cast<std::size_t>(i)], columns[static_cast<std::size_t>(j)]);
  }
  std::ranges::sort(pairs);
  return pairs;
}

cv::Mat1d track_cost_matrix(std::span<const TrackView> tracks,
                            std::span<const TrackedDetection> detections, double min_iou,
                            const AssociationSettings& settings) {
  check_share(kAssociation, "min_iou", min_iou);
  Stage all{std::vector<std::size_t>(tracks.size()), std::vector<std::size_t>(detections.size())};
  std::iota(all.tracks.begin(), all.tracks.end(), std::size_t{0});
  std::iota(all.detections.begin(), all.detections.end(), std::size_t{0});
  return Costs(tracks, detections, settings).fused(all, min_iou);
}

std::vector<std::optional<std::size_t>> associate_in_stages(
    std::span<const TrackView> tracks, std::span<const TrackedDetection> detections,
    const AssociationSettings& settings) {
  const Costs costs(tracks, detections, settings);
  std::vector<std::optional<std::size_t>> track_of(detections.size());
  Stage first, second, third;
  for (std::size_t i = 0; i < tracks.size(); ++i)
    (tracks[i].state == TrackView::State::tentative ? third : first).tracks.push_back(i);
  for (std::size_t i = 0; i < detections.size(); ++i) {
    const double confidence = detections[i].confidence;
    if (confidence >= settings.high_confidence)
      first.detections.push_back(i);
    else if (confidence >= settings.low_confidence)
      second.detections.push_back(i);
  }
  note_pairs(costs.fused(first, settings.min_iou), first, track_of);
  second.tracks = std::move(first.tracks);
  note_pairs(costs.by_iou(second, settings.min_iou_low), second, track_of);
  third.detections = std::move(first.detections);
  note_pairs(costs.fused(third, settings.min_iou_tentative), third, track_of);
  return track_of;
}

}  // namespace vcap
