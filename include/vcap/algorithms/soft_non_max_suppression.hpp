// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// How soft_non_max_suppression() lowers scores. Thread safety: value.
struct SoftSuppression {
  /// linear: a score is multiplied by 1 − IoU if the IoU is above `max_overlap`.
  /// gaussian: a score is multiplied by exp(−IoU² / sigma), for any IoU.
  enum class Decay { linear, gaussian };

  Decay decay = Decay::gaussian;
  double max_overlap = 0.3;  ///< of `linear`: 0…1
  double sigma = 0.5;        ///< of `gaussian`: above 0; smaller values lower scores more
  double min_score = 0.001;  ///< boxes whose score falls below it are dropped: 0 or above
};

/// A box that was kept, and its lowered score.
struct SoftScore {
  std::size_t index = 0;
  double score = 0;

  bool operator==(const SoftScore&) const = default;
};

/// Lowers the scores of boxes that overlap better ones instead of dropping them, so that people who
/// stand close together keep a box each. Takes the best box left, lowers the scores of the others
/// by their IoU with it, drops those below `min_score`, and repeats.
///
/// Gives the boxes by falling lowered score; of equal scores the earlier box comes first. A box
/// without area overlaps nothing and keeps its score. The result depends on the input alone.
/// The time is of order p·log n for p pairs of boxes that overlap.
///
/// Throws InvalidArgument if a setting is outside its range, the number of scores is not that of
/// the boxes, or a score is negative or not finite.
/// Source: N. Bodla et al., "Soft-NMS: improving object detection with one line of code",
/// ICCV 2017. Thread-safe.
VCAP_EXPORT std::vector<SoftScore> soft_non_max_suppression(std::span<const BoundingBox> boxes,
                                                            std::span<const double> scores,
                                                            const SoftSuppression& settings = {});

/// The same within each label (see non_max_suppression). Also throws InvalidArgument if the number
/// of labels is not that of the boxes.
VCAP_EXPORT std::vector<SoftScore> soft_non_max_suppression(std::span<const BoundingBox> boxes,
                                                            std::span<const double> scores,
                                                            std::span<const std::size_t> labels,
                                                            const SoftSuppression& settings = {});

}  // namespace vcap
