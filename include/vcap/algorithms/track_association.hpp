// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/algorithms/kalman_filter.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

// These functions decide which detection of a frame belongs to which track. MultiObjectTracker does
// this for whole streams; other kinds of trackers can use these parts. All functions are
// thread-safe.

namespace vcap {

/// A detection as input of a tracker. Thread safety: value.
struct TrackedDetection {
  BoundingBox box{};      ///< in pixels of the frame
  double confidence = 1;  ///< 0…1
  /// A vector whose direction is similar for the same thing; its length does not matter.
  std::optional<std::vector<float>> encoding{};
  std::size_t label = 0;  ///< only detections and tracks of one label belong together
};

/// A track, predicted to the time of the detections. Borrows the filter and the encoding. Thread
/// safety: value.
struct TrackView {
  enum class State {
    tentative,  ///< too young to be sure of
    tracked,    ///< confirmed, and found in the frame before
    lost,       ///< confirmed, and not found since
  };

  const KalmanFilter* filter = nullptr;  ///< must not be null in a call
  State state = State::tracked;
  std::span<const float> encoding{};  ///< empty: unknown
  std::size_t label = 0;
};

/// How far a detection may be from a track. Thread safety: value.
struct AssociationSettings {
  /// Detections at or above `high_confidence` begin and continue tracks; those at or above
  /// `low_confidence` only continue confirmed ones; others are ignored. 0…1.
  double high_confidence = 0.5, low_confidence = 0.1;
  /// The minimum IoU of a confident detection and a confirmed track: 0…1. Boxes grow before it is
  /// measured, see `max_growth`.
  double min_iou = 0.25;
  double min_iou_low = 0.5;        ///< of an unsure detection and a confirmed track, without growth
  double min_iou_tentative = 0.3;  ///< of a confident detection and a tentative track
  /// The most by which a box grows at each side, as a share of its width and height: 0 or above.
  /// Both boxes grow by the standard deviation of the track's predicted centre. That is much for
  /// tracks that are new or lost and at few frames a second, and hardly anything otherwise.
  double max_growth = 0.5;
  /// The share of appearance in the cost, if track and detection have an encoding: 0…1.
  double appearance_weight = 0.4;
  /// The greatest cosine distance between encodings of the same thing: above 0 and at most 2. A
  /// pair at a greater distance is forbidden, unless its boxes reach the minimum IoU without
  /// growing and would grow by less than `max_growth`. If the distance is not greater, a lost track
  /// is found again wherever its centre can be (KalmanFilter::kCentreGate), even if the boxes do
  /// not overlap.
  double max_appearance_distance = 0.25;

  bool operator==(const AssociationSettings&) const = default;
};

/// Pairs rows with columns so that the sum of costs is the least. Rows and columns may stay
/// unmatched: a pair is made only if it costs less than `max_cost`, and one good pair is preferred
/// to two bad ones. In contrast, linear_assignment() makes as many pairs as it can. Gives (row,
/// column) pairs by rising row, always the same for the same matrix.
///
/// The time is that of comparing all costs with `max_cost`, and of linear_assignment() for each
/// group of rows and columns that allowed pairs connect. Throws InvalidArgument if a cost is NaN or
/// below −1e300, or if `max_cost` is not within ±1e300.
VCAP_EXPORT std::vector<std::pair<int, int>> assign_below(const cv::Mat1d& cost, double max_cost);

/// The cost of each track (row) with each detection (column). If one of them has no encoding, it is
/// 1 − IoU of the grown boxes. If both have one, it is the mean of that and of the cost of
/// appearance, weighted by `appearance_weight`. The cost of appearance is the cosine distance
/// divided by twice `max_appearance_distance`, and at most 1.
///
/// A cost is infinite if labels differ, the IoU is below `min_iou` (unless
/// `max_appearance_distance` lets a lost track be found again), or appearance forbids the pair. All
/// other costs are in 0…1. Source of growing boxes: F. Yang et al., "Hard to track objects with
/// irregular motions and similar appearances? Make it easier by buffering the matching space", WACV
/// 2023; here they grow by the prediction's standard deviation.
///
/// Throws InvalidArgument if encodings differ in their number of elements, or one is all zeros or
/// has an element that is not finite; or if a setting is outside its range.
VCAP_EXPORT cv::Mat1d track_cost_matrix(std::span<const TrackView> tracks,
                                        std::span<const TrackedDetection> detections,
                                        double min_iou, const AssociationSettings& settings = {});

/// For each detection the index of its track, or `nullopt`; no track has two detections.
///
/// There are three stages. Each takes what the earlier ones left over:
/// - confident detections with confirmed tracks, both tracked and lost;
/// - unsure detections with confirmed tracks, by IoU alone, since people who are half covered have
///   low scores and look different;
/// - confident detections with tentative tracks.
///
/// Throws as track_cost_matrix() does. Source: Y. Zhang et al., "ByteTrack: multi-object tracking
/// by associating every detection box", ECCV 2022.
VCAP_EXPORT std::vector<std::optional<std::size_t>> associate_in_stages(
    std::span<const TrackView> tracks, std::span<const TrackedDetection> detections,
    const AssociationSettings& settings = {});

}  // namespace vcap
