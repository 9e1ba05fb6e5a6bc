// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Pairs rows with columns, each at most once, so that the sum of the pairs' costs is the least.
///
/// Gives (row, column) pairs by rising row: as many as the shorter side has. Costs may be of either
/// sign. A cost of +infinity forbids its pair. If that leaves no complete assignment, the result
/// has as many pairs as possible, at the least cost for that number of pairs. The other rows and
/// columns stay unassigned. If all pairs are forbidden, the result is empty and no error is thrown,
/// since the gate of a tracker may forbid all pairs.
///
/// The optimum is exact up to the rounding of sums of doubles. If there are several optima, the
/// choice is always the same for the same matrix. For sides s ≤ l, the time is at most of order
/// s²·l.
///
/// Throws InvalidArgument if a cost is NaN, −infinity, or finite and beyond ±1e300, since sums of
/// such costs overflow.
/// Source: shortest augmenting paths (R. Jonker, A. Volgenant, "A shortest augmenting path
/// algorithm for dense and sparse linear assignment problems", Computing 38, 1987) in the form of
/// D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions on
/// Aerospace and Electronic Systems 52(4), 2016. Thread-safe.
VCAP_EXPORT std::vector<std::pair<int, int>> linear_assignment(const cv::Mat1d& cost);

}  // namespace vcap
