// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// An object that is in a frame. Thread safety: value.
struct TruthBox {
  BoundingBox box{};
  std::optional<double> area{};  ///< square pixels, such as a mask's; absent: the box's area
  /// Stands for any number of objects. Several boxes may match it, by the intersection over their
  /// own area, and count as neither right nor wrong.
  bool is_crowd = false;
  bool is_ignored = false;  ///< need not be found; a box that matches it is neither right nor wrong
};

/// An object that was found. Thread safety: value.
struct ScoredBox {
  BoundingBox box{};
  double score = 1;              ///< the higher, the surer; any finite number
  std::optional<double> area{};  ///< square pixels; absent: the box's area
};

/// One frame or image, of one class of objects. Thread safety: value.
struct DetectionFrame {
  std::vector<TruthBox> truth{};
  std::vector<ScoredBox> found{};
};

/// What was found at one IoU, from one score on. A ratio without a denominator is absent.
/// Thread safety: value.
struct DetectionScores {
  std::int64_t true_positives = 0;
  std::int64_t false_positives = 0;
  std::int64_t misses = 0;
  std::optional<double> precision{};  ///< TP / (TP + FP)
  std::optional<double> recall{};     ///< TP / (TP + misses)
  std::optional<double> f1{};         ///< 2 TP / (2 TP + FP + misses)
};

/// COCO's twelve figures, 0 to 1. One is absent if no object is in its range of areas: small, to
/// 32² square pixels; medium, to 96²; large, above. Thread safety: value.
struct AveragePrecision {
  std::optional<double> ap{};  ///< mean over the IoUs 0.5, 0.55, …, 0.95
  std::optional<double> ap_50{}, ap_75{};
  std::optional<double> ap_small{}, ap_medium{}, ap_large{};
  std::optional<double> ar_1{}, ar_10{}, ar_100{};  ///< recall, with 1, 10 or 100 boxes a frame
  std::optional<double> ar_small{}, ar_medium{}, ar_large{};
};

/// Precision and recall if all boxes of a lower score are left out. Thread safety: value.
struct PrecisionRecallPoint {
  double score = 0;
  double precision = 0;
  double recall = 0;
};

/// Counts what was found. In each frame boxes are taken by falling score, and each is matched with
/// the object of greatest IoU that is not matched yet, if that is `iou` or more: as in
/// average_precision(), but without its limit of boxes a frame.
///
/// `iou` is above 0 and at most 1; boxes of a score below `least_score` are left out. Throws
/// InvalidArgument for another `iou`, and for a box, area or score that is not finite, or a box or
/// area of negative size, naming the frame's place. Thread-safe.
VCAP_EXPORT DetectionScores
score_detections(std::span<const DetectionFrame> frames, double iou = 0.5,
                 double least_score = -std::numeric_limits<double>::infinity());

/// One point for each score that occurs, by falling score; empty if there are no objects. Boxes of
/// equal score are added together. Throws as score_detections() does. Thread-safe.
VCAP_EXPORT std::vector<PrecisionRecallPoint> precision_recall_curve(
    std::span<const DetectionFrame> frames, double iou = 0.5);

/// Average precision and recall as COCO defines them: the 100 boxes of greatest score in each
/// frame; precision made monotone and read off at 101 recalls, 0 to 1; boxes of equal score in the
/// order in which they are given. Throws as score_detections() does. Thread-safe. Source: T.-Y. Lin
/// et al., "Microsoft COCO: Common Objects in Context", ECCV 2014, and the definition at
/// https://cocodataset.org/#detection-eval.
VCAP_EXPORT AveragePrecision average_precision(std::span<const DetectionFrame> frames);

/// The mean of each figure over the classes that have it. Thread-safe.
VCAP_EXPORT AveragePrecision mean_over_classes(std::span<const AveragePrecision> classes);

}  // namespace vcap
