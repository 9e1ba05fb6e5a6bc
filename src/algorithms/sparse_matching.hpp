// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace vcap {

/// A row and a column that may be matched, and the weight of that match.
struct WeightedPair {
  std::size_t row = 0;
  std::size_t column = 0;
  double weight = 0;  ///< above 0
};

/// Matches rows with columns, each at most once, so that the sum of the pairs' weights is the
/// greatest. Only the given pairs are possible; a row or column may stay unmatched.
///
/// linear_assignment() solves the same problem for a full matrix. Here most pairs are impossible
/// (boxes that do not overlap, tracks that never meet). The time is at most of order rows · pairs ·
/// log(columns), and does not depend on rows · columns.
///
/// Source: shortest augmenting paths (R. Jonker, A. Volgenant, "A shortest augmenting path
/// algorithm for dense and sparse linear assignment problems", Computing 38, 1987), with a column
/// of weight 0 for each row, which means unmatched. Keeps its memory from call to call.
/// Thread-compatible.
class SparseMatcher {
 public:
  /// The indices in `pairs` of the matched pairs, by rising row. `pairs` must be sorted by row.
  std::vector<std::size_t> match(std::size_t rows, std::size_t columns,
                                 std::span<const WeightedPair> pairs);

 private:
  void reset(std::size_t rows, std::size_t columns);
  void add_row(std::size_t start);
  void relax(std::size_t row, double travelled);
  void assign_along_path(std::size_t start, std::size_t column);

  std::span<const WeightedPair> pairs_;
  std::vector<std::size_t> first_pair_;  ///< of each row, and the end
  std::vector<double> row_duals_, column_duals_;
  std::vector<std::size_t> pair_of_row_;  ///< its matched pair, or none
  std::vector<std::size_t> row_of_column_;
  std::vector<double> distance_;                      ///< of each column from the row that is added
  std::vector<std::size_t> pair_to_;                  ///< the last pair on the way to each column
  std::vector<bool> is_scanned_;                      ///< whether that distance is final
  std::vector<std::size_t> touched_;                  ///< columns whose distance is known
  std::vector<std::pair<double, std::size_t>> heap_;  ///< distance and column, the nearest on top
};

}  // namespace vcap
