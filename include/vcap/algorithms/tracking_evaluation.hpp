// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// How an object of the ground truth counts.
enum class TruthRole {
  counted,     ///< must be found
  distractor,  ///< need not be found; a box that matches it is left out
  bystander,   ///< need not be found; a box that matches it is a false positive
};

/// An object that is in a frame. Thread safety: value.
struct TruthTrackBox {
  std::int64_t id = 0;  ///< the same for the same object in all frames of the sequence
  BoundingBox box{};
  TruthRole role = TruthRole::counted;
};

/// An object that was found. Thread safety: value.
struct FoundTrackBox {
  std::int64_t id = 0;  ///< the same for all boxes of one track
  BoundingBox box{};
};

/// One frame of a sequence. Thread safety: value.
struct TrackingFrame {
  std::vector<TruthTrackBox> truth{};
  std::vector<FoundTrackBox> found{};
};

/// The counts of a sequence that tracking_scores() needs. Counts of several sequences can be added
/// up. Thread safety: value.
struct VCAP_EXPORT TrackingCounts {
  /// The matches of HOTA at one IoU.
  struct Localised {
    std::int64_t matches = 0;
    double iou_sum = 0;          ///< of the matches
    double association_sum = 0;  ///< sum over the matches of how well their two tracks agree
    double association_recall_sum = 0;
    double association_precision_sum = 0;
  };
  /// HOTA's IoUs: 0.05, 0.1, …, 0.95.
  static constexpr std::size_t kIous = 19;

  std::int64_t truth_boxes = 0;  ///< of objects that count
  std::int64_t found_boxes = 0;  ///< without those that match a distractor
  std::int64_t matches = 0;      ///< of CLEAR MOT, at the IoU given
  double iou_sum = 0;            ///< of these matches
  std::int64_t id_switches = 0;
  std::int64_t fragmentations = 0;
  std::int64_t mostly_tracked = 0;  ///< objects matched in more than 80 % of their frames
  std::int64_t partly_tracked = 0;
  std::int64_t mostly_lost = 0;       ///< in less than 20 %
  std::int64_t identity_matches = 0;  ///< IDTP, at the IoU given
  std::array<Localised, kIous> localised{};
  std::vector<std::int64_t> truth_lengths{};  ///< frames of each object's track
  std::vector<std::int64_t> found_lengths{};

  TrackingCounts& operator+=(const TrackingCounts& other);
};

/// The figures, each 0 to 1 except MOTA, which may be below 0. A figure is absent if its
/// denominator is 0. Thread safety: value.
struct TrackingScores {
  std::optional<double> mota{}, motp{};  ///< motp: the mean IoU of the matches
  std::optional<double> precision{}, recall{};
  std::optional<double> idf1{}, id_precision{}, id_recall{};
  /// Means over HOTA's IoUs. det_a, ass_a: detection and association accuracy; loc_a: mean IoU.
  std::optional<double> hota{}, det_a{}, det_recall{}, det_precision{};
  std::optional<double> ass_a{}, ass_recall{}, ass_precision{}, loc_a{};
  /// At each of HOTA's IoUs; empty if `hota` is absent.
  std::vector<double> hota_at{}, det_a_at{}, ass_a_at{};
  std::optional<double> median_truth_length{}, median_found_length{};  ///< frames of a track
};

/// Compares the tracks of one sequence, whose frames are given in their order, with its ground
/// truth. `iou` is the minimum IoU of a match of CLEAR MOT and of the identity figures; HOTA has
/// its own 19 IoUs. Boxes that match a distractor at an IoU of 0.5 or more are left out first. A
/// frame in which one side has no boxes ends no fragment, as in TrackEval.
///
/// Needs memory only for pairs of tracks that meet. If several matchings are equally good, the
/// choice is always the same for the same input. Throws InvalidArgument if `iou` is not above 0 and
/// at most 1, if a frame has an id twice, or if a box is not finite or has a negative size. The
/// message has the frame's index. Thread-safe. Sources: K. Bernardin, R. Stiefelhagen, "Evaluating
/// multiple object tracking performance: the CLEAR MOT metrics", EURASIP Journal on Image and Video
/// Processing, 2008; Y. Li, C. Huang, R. Nevatia, "Learning to associate: HybridBoosted
/// multi-target tracker for crowded scene", CVPR 2009 (mostly tracked and lost, fragmentations); E.
/// Ristani et al., "Performance measures and a data set for multi-target, multi-camera tracking",
/// ECCV workshops 2016 (identity); J. Luiten et al., "HOTA: a higher order metric for evaluating
/// multi-object tracking", International Journal of Computer Vision 129, 2021.
VCAP_EXPORT TrackingCounts count_tracking(std::span<const TrackingFrame> frames, double iou = 0.5);

/// The figures for the counts of one sequence, or of several together. Thread-safe.
VCAP_EXPORT TrackingScores tracking_scores(const TrackingCounts& counts);

}  // namespace vcap
