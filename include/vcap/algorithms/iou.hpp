// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// Intersection over union (the Jaccard index) of two boxes: 1 if they are the same, 0 if they only
/// touch or are apart. A box without area, with x2 < x1 or y2 < y1, or with a coordinate that is
/// NaN has 0 with every box, itself included.
/// Source: P. Jaccard, "The distribution of the flora in the alpine zone", New Phytologist 11(2),
/// 1912. Thread-safe.
VCAP_EXPORT double iou(const BoundingBox& a, const BoundingBox& b) noexcept;

/// 1 − IoU of each row's box with each column's box: the costs that linear_assignment() takes. The
/// matrix has rows × columns doubles; if one side has no boxes, it has no elements. Thread-safe.
VCAP_EXPORT cv::Mat1d iou_cost_matrix(std::span<const BoundingBox> rows,
                                      std::span<const BoundingBox> columns);

}  // namespace vcap
