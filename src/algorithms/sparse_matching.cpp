// SPDX-License-Identifier: Apache-2.0
#include "algorithms/sparse_matching.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace vcap {
namespace {

constexpr std::size_t kUnmatched = std::numeric_limits<std::size_t>::max();
constexpr double kFarthest = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<std::size_t> SparseMatcher::match(std::size_t rows, std::size_t columns,
                                              std::span<const WeightedPair> pairs) {
  pairs_ = pairs;
  reset(rows, columns);
  for (std::size_t row = 0; row < rows; ++row)
    if (first_pair_[row] != first_pair_[row + 1]) add_row(row);

  std::vector<std::size_t> chosen;
  for (const std::size_t pair : pair_of_row_)
    if (pair != kUnmatched) chosen.push_back(pair);
  return chosen;
}

void SparseMatcher::reset(std::size_t rows, std::size_t columns) {
  first_pair_.assign(rows + 1, 0);
  for (const WeightedPair& pair : pairs_) ++first_pair_[pair.row + 1];
  for (std::size_t row = 0; row < rows; ++row) first_pair_[row + 1] += first_pair_[row];
  row_duals_.assign(rows, 0);
  column_duals_.assign(columns, 0);
  pair_of_row_.assign(rows, kUnmatched);
  row_of_column_.assign(columns, kUnmatched);
  distance_.assign(columns, kFarthest);
  pair_to_.assign(columns, kUnmatched);
  is_scanned_.assign(columns, false);
}

/// Shortens the distances of the columns that the row may be matched with. The cost of a pair is
/// minus its weight.
void SparseMatcher::relax(std::size_t row, double travelled) {
  for (std::size_t i = first_pair_[row]; i < first_pair_[row + 1]; ++i) {
    const std::size_t column = pairs_[i].column;
    if (is_scanned_[column]) continue;
    const double distance =
        travelled + (-pairs_[i].weight - row_duals_[row] - column_duals_[column]);
    if (distance >= distance_[column]) continue;
    if (distance_[column] == kFarthest) touched_.push_back(column);
    distance_[column] = distance;
    pair_to_[column] = i;
    heap_.emplace_back(distance, column);
    std::ranges::push_heap(heap_, std::greater{});
  }
}

/// Dijkstra's algorithm over reduced costs, from the row to the nearest free column, or to a row
/// that is better left alone.
void SparseMatcher::add_row(std::size_t start) {
  touched_.clear();
  heap_.clear();
  std::size_t free_column = kUnmatched, row_alone = start;
  double alone = kFarthest, length = 0, travelled = 0;
  for (std::size_t row = start;;) {
    if (travelled - row_duals_[row] < alone) {
      alone = travelled - row_duals_[row];
      row_alone = row;
    }
    relax(row, travelled);
    // A column is on the heap once for each time that its distance became shorter.
    while (!heap_.empty() && is_scanned_[heap_.front().second]) {
      std::ranges::pop_heap(heap_, std::greater{});
      heap_.pop_back();
    }
    length = alone;
    if (heap_.empty() || heap_.front().first > alone) break;
    const auto [distance, column] = heap_.front();
    is_scanned_[column] = true;
    if (row_of_column_[column] == kUnmatched) {
      free_column = column;
      length = distance;
      break;
    }
    travelled = distance;
    row = row_of_column_[column];
  }

  row_duals_[start] += length;
  for (const std::size_t column : touched_) {
    if (is_scanned_[column]) {
      const double change = length - distance_[column];
      column_duals_[column] -= change;
      if (row_of_column_[column] != kUnmatched) row_duals_[row_of_column_[column]] += change;
    }
    distance_[column] = kFarthest;
    is_scanned_[column] = false;
  }

  if (free_column != kUnmatched) {
    assign_along_path(start, free_column);
  } else if (row_alone != start) {
    const std::size_t left = pairs_[pair_of_row_[row_alone]].column;
    pair_of_row_[row_alone] = kUnmatched;
    assign_along_path(start, left);
  }
}

void SparseMatcher::assign_along_path(std::size_t start, std::size_t column) {
  for (;;) {
    const std::size_t pair = pair_to_[column];
    const std::size_t row = pairs_[pair].row;
    const std::size_t before = pair_of_row_[row];
    pair_of_row_[row] = pair;
    row_of_column_[column] = row;
    if (row == start) return;
    column = pairs_[before].column;
  }
}

}  // namespace vcap
