// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Pairs rows with columns, each at most once, so that the pairs' costs add up to the least.
///
/// Gives (row, column) pairs by rising row: as many as the shorter side has. Costs may be of either
/// sign. A cost of +infinity forbids its pair; where that leaves no complete assignment, the result
/// has as many pairs as can be had, and the least cost among the results with so many. A row or
/// column that is in no pair stays unassigned: matching everything with everything forbidden is an
/// empty result and no error, as a tracker's gate wants it.
///
/// The optimum is exact up to the rounding of sums of doubles; among several optima the choice is
/// always the same one for the same matrix. The time is at most of order s²·l for sides s ≤ l.
///
/// Throws InvalidArgument where a cost is NaN, −infinity, or beyond ±1e300, whose sums overflow.
/// Source: shortest augmenting paths (R. Jonker, A. Volgenant, "A shortest augmenting path
/// algorithm for dense and sparse linear assignment problems", Computing 38, 1987) in the form of
/// D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions on
/// Aerospace and Electronic Systems 52(4), 2016. Thread-safe.
VCAP_EXPORT std::vector<std::pair<int, int>> linear_assignment(const cv::Mat1d& cost);

}  // namespace vcap
