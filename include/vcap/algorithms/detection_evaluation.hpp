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
  /// own area. These boxes count as neither right nor wrong.
  bool is_crowd = false;
  bool is_ignored = false;  ///< need not be found; a box that matches it is neither right nor wrong
};

/// An object that was found. Thread safety: value.
struct ScoredBox {
  BoundingBox box{};
  double score = 1;              ///< higher is more certain; any finite number
  std::optional<double> area{};  ///< square pixels; absent: the box's area
};

/// One frame or image, of one class of objects. Thread safety: value.
struct DetectionFrame {
  std::vector<TruthBox> truth{};
  std::vector<ScoredBox> found{};
};

/// What was found at one IoU, with boxes from one score on. A ratio is absent if its denominator is
/// 0. Thread safety: value.
struct DetectionScores {
  std::int64_t true_positives = 0;
  std::int64_t false_positives = 0;
  std::int64_t misses = 0;
  std::optional<double> precision{};  ///< TP / (TP + FP)
  std::optional<double> recall{};     ///< TP / (TP + misses)
  std::optional<double> f1{};         ///< 2 TP / (2 TP + FP + misses)
};

/// COCO's twelve figures, 0 to 1. A figure is absent if no object is in its range of areas: small,
/// up to 32² square pixels; medium, up to 96²; large, above 96². Thread safety: value.
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

/// Counts what was found. In each frame boxes are taken by falling score. Each is matched with the
/// object of greatest IoU that is not matched yet, if that IoU is `iou` or more.
/// average_precision() does the same, but limits the boxes of a frame.
///
/// `iou` is above 0 and at most 1; boxes of a score below `least_score` are left out. Throws
/// InvalidArgument for another `iou`, for a box, area or score that is not finite, and for a box or
/// area of negative size. The message has the frame's index. Thread-safe.
VCAP_EXPORT DetectionScores
score_detections(std::span<const DetectionFrame> frames, double iou = 0.5,
                 double least_score = -std::numeric_limits<double>::infinity());

/// One point for each score that occurs, by falling score; empty if there are no objects. Boxes of
/// equal score make one point together. Throws as score_detections() does. Thread-safe.
VCAP_EXPORT std::vector<PrecisionRecallPoint> precision_recall_curve(
    std::span<const DetectionFrame> frames, double iou = 0.5);

/// Average precision and recall as COCO defines them. They use the 100 boxes of greatest score in
/// each frame. Precision is made monotone and read at 101 recalls, 0 to 1. Boxes of equal score
/// keep the order in which they are given. Throws as score_detections() does. Thread-safe. Source:
/// T.-Y. Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014, and the definition at
/// https://cocodataset.org/#detection-eval.
VCAP_EXPORT AveragePrecision average_precision(std::span<const DetectionFrame> frames);

/// The mean of each figure over the classes that have it. Thread-safe.
VCAP_EXPORT AveragePrecision mean_over_classes(std::span<const AveragePrecision> classes);

}  // namespace vcap
