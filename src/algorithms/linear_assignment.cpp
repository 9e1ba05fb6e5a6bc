// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/linear_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Far enough below the largest double that sums over a path cannot overflow.
constexpr double kLargestCost = 1e300;

/// A cost in a matrix with forbidden pairs. Each forbidden pair outweighs any sum of costs. A large
/// double could do the same, but the other costs would lose digits.
struct Penalised {
  std::int64_t forbidden = 0;
  double value = 0;

  friend Penalised operator+(Penalised a, Penalised b) {
    return {a.forbidden + b.forbidden, a.value + b.value};
  }
  friend Penalised operator-(Penalised a, Penalised b) {
    return {a.forbidden - b.forbidden, a.value - b.value};
  }
  auto operator<=>(const Penalised&) const = default;
};

template <class Cost>
Cost cost_of(double value);
template <>
double cost_of<double>(double value) {
  return value;
}
template <>
Penalised cost_of<Penalised>(double value) {
  return std::isinf(value) ? Penalised{1, 0} : Penalised{0, value};
}

template <class Cost>
constexpr Cost kUnreached = std::numeric_limits<double>::infinity();
template <>
constexpr Penalised kUnreached<Penalised> = {std::numeric_limits<std::int64_t>::max(), 0};

/// Assigns one row after the other, each by the shortest augmenting path from it to a free column
/// (Dijkstra's algorithm over reduced costs). Needs rows ≤ columns, and then assigns every row.
template <class Cost>
class Solver {
 public:
  explicit Solver(const cv::Mat1d& cost)
      : cost_(cost),
        row_duals_(static_cast<std::size_t>(cost.rows)),
        column_duals_(static_cast<std::size_t>(cost.cols)),
        column_of_(row_duals_.size(), kNone),
        row_of_(column_duals_.size(), kNone),
        distance_(column_duals_.size()),
        previous_row_(column_duals_.size()),
        columns_(column_duals_.size()) {}

  /// The column of each row.
  std::vector<std::size_t> solve() && {
    for (std::size_t row = 0; row < column_of_.size(); ++row) {
      const std::size_t free_column = find_path(row);
      update_duals(row, distance_[free_column]);
      assign_along_path(row, free_column);
    }
    return std::move(column_of_);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  /// Fills distance_ and previous_row_. Gives the free column that is nearest to the row. The
  /// columns scanned on the way, including that one, are columns_ from scanned_ on.
  std::size_t find_path(std::size_t start) {
    std::ranges::fill(distance_, kUnreached<Cost>);
    std::iota(columns_.begin(), columns_.end(), std::size_t{0});
    scanned_ = columns_.size();
    Cost travelled{};
    for (std::size_t row = start;;) {
      const std::size_t nearest = relax(row, travelled);
      const std::size_t column = columns_[nearest];
      travelled = distance_[column];
      std::swap(columns_[nearest], columns_[--scanned_]);
      if (row_of_[column] == kNone) return column;
      row = row_of_[column];
    }
  }

  /// Shortens the distances of all columns not scanned yet, by way of the row. Gives the index in
  /// columns_ of the nearest column. Of equally near ones it prefers a free column, which ends the
  /// search.
  std::size_t relax(std::size_t row, Cost travelled) {
    const double* costs = cost_[static_cast<int>(row)];
    const Cost base = travelled - row_duals_[row];
    std::size_t nearest = 0;
    Cost least = kUnreached<Cost>;
    for (std::size_t i = 0; i < scanned_; ++i) {
      const std::size_t column = columns_[i];
      const Cost distance = base + (cost_of<Cost>(costs[column]) - column_duals_[column]);
      if (distance < distance_[column]) {
        distance_[column] = distance;
        previous_row_[column] = row;
      }
      if (distance_[column] < least || (distance_[column] == least && row_of_[column] == kNone)) {
        least = distance_[column];
        nearest = i;
      }
    }
    return nearest;
  }

  /// Keeps reduced costs at zero along assigned pairs and at zero or above elsewhere.
  void update_duals(std::size_t start, Cost length) {
    row_duals_[start] = row_duals_[start] + length;
    for (std::size_t i = scanned_; i < columns_.size(); ++i) {
      const std::size_t column = columns_[i];
      const Cost change = length - distance_[column];
      column_duals_[column] = column_duals_[column] - change;
      if (const std::size_t row = row_of_[column]; row != kNone)
        row_duals_[row] = row_duals_[row] + change;
    }
  }

  void assign_along_path(std::size_t start, std::size_t column) {
    for (std::size_t row = kNone; row != start;) {
      row = previous_row_[column];
      row_of_[column] = row;
      std::swap(column, column_of_[row]);
    }
  }

  const cv::Mat1d& cost_;
  std::vector<Cost> row_duals_, column_duals_;
  std::vector<std::size_t> column_of_, row_of_;
  std::vector<Cost> distance_;
  std::vector<std::size_t> previous_row_;
  std::vector<std::size_t> columns_;
  std::size_t scanned_ = 0;
};

/// Whether any pair is forbidden. Throws InvalidArgument if a cost cannot be summed up.
bool check(const cv::Mat1d& cost) {
  if (cost.dims > 2)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "linear_assignment: the costs have " + std::to_string(cost.dims) +
                              " dimensions; give a matrix of rows and columns");
  bool forbidden = false;
  for (int row = 0; row < cost.rows; ++row) {
    for (int column = 0; column < cost.cols; ++column) {
      const double value = cost(row, column);
      if (std::abs(value) <= kLargestCost) continue;
      if (!(value == std::numeric_limits<double>::infinity()))
        throw InvalidArgument(
            ErrorCode::invalid_argument,
            "linear_assignment: the cost " + number_text(value) + " at row " + std::to_string(row) +
                ", column " + std::to_string(column) +
                " is not within -1e300 to 1e300; give +infinity to forbid a pair");
      forbidden = true;
    }
  }
  return forbidden;
}

}  // namespace

std::vector<std::pair<int, int>> linear_assignment(const cv::Mat1d& cost) {
  const bool forbidden = check(cost);
  if (cost.empty()) return {};
  const bool transposed = cost.rows > cost.cols;
  const cv::Mat1d wide = transposed ? cv::Mat1d(cost.t()) : cost;
  const std::vector<std::size_t> columns =
      forbidden ? Solver<Penalised>(wide).solve() : Solver<double>(wide).solve();

  std::vector<std::pair<int, int>> pairs;
  pairs.reserve(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const int row = static_cast<int>(i), column = static_cast<int>(columns[i]);
    if (std::isinf(wide(row, column))) continue;
    pairs.emplace_back(transposed ? column : row, transposed ? row : column);
  }
  if (transposed) std::ranges::sort(pairs);
  return pairs;
}

}  // namespace vcap
