// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/types.hpp>

namespace vcap {

/// On which side of the line from `a` to `b` the point `c` is, seen from `a`, with y down: 1 right,
/// -1 left, 0 exactly on it. Exact for all numbers whose products neither overflow nor underflow.
/// Source: J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric
/// predicates", Discrete & Computational Geometry 18, 1997. Thread-safe.
int orientation(cv::Point2d a, cv::Point2d b, cv::Point2d c) noexcept;

}  // namespace vcap
