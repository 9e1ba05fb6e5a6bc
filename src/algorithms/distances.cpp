// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/distances.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "algorithms/matrix_size.hpp"
#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Encoding = std::span<const float>;
using Encodings = std::span<const std::vector<float>>;

/// The sum of term(a[i], b[i]). Several sums side by side let the compiler use vector registers,
/// which one sum in the given order does not allow, and keep rounding errors smaller.
template <class Term>
double sum_of(Encoding a, Encoding b, Term term) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += term(double{a[i + lane]}, double{b[i + lane]});
  for (std::size_t lane = 0; i < a.size(); ++i, ++lane)
    sums[lane] += term(double{a[i]}, double{b[i]});
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double dot(Encoding a, Encoding b) {
  return sum_of(a, b, [](double x, double y) { return x * y; });
}

std::string label(const std::string& side, std::size_t index) {
  return side + "[" + std::to_string(index) + "]";
}

void check(Encoding encoding, std::size_t length, const std::string& name) {
  const auto fail = [&name](const std::string& what) {
    throw InvalidArgument(ErrorCode::invalid_argument, "distances: " + name + " " + what);
  };
  if (encoding.size() != length)
    fail("has " + std::to_string(encoding.size()) + " elements, the first encoding has " +
         std::to_string(length) + "; compare encodings of the same encoder only");
  const auto bad = std::ranges::find_if(encoding, [](float x) { return !std::isfinite(x); });
  if (bad != encoding.end())
    fail("has " + number_text(*bad) + " at element " +
         std::to_string(std::distance(encoding.begin(), bad)) +
         ", which is not finite; leave it out");
}

/// The length of a checked encoding. Throws InvalidArgument if it is all zeros.
double direction_norm(Encoding encoding, const std::string& name) {
  // A float's square is far within a double's range, so this neither overflows nor becomes zero.
  const double norm = std::sqrt(dot(encoding, encoding));
  if (norm == 0)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "cosine distances: " + name +
                              " is all zeros and has no direction; leave it out or use "
                              "euclidean_distances");
  return norm;
}

void check_all(Encodings encodings, std::size_t length, const std::string& side) {
  for (std::size_t i = 0; i < encodings.size(); ++i) check(encodings[i], length, label(side, i));
}

std::vector<double> direction_norms(Encodings encodings, const std::string& side) {
  std::vector<double> norms(encodings.size());
  for (std::size_t i = 0; i < norms.size(); ++i)
    norms[i] = direction_norm(encodings[i], label(side, i));
  return norms;
}

double cosine_distance(Encoding a, double norm_a, Encoding b, double norm_b) {
  // Rounding may put the cosine of parallel encodings a little beyond ±1.
  return 1 - std::clamp(dot(a, b) / (norm_a * norm_b), -1.0, 1.0);
}

double euclidean_distance(Encoding a, Encoding b) {
  return std::sqrt(sum_of(a, b, [](double x, double y) { return (x - y) * (x - y); }));
}

/// Checks both sides, then fills rows × columns with distance(row, column).
template <class Distance>
cv::Mat1d fill(std::size_t rows, std::size_t columns, Distance distance) {
  cv::Mat1d matrix(matrix_side(rows, "rows"), matrix_side(columns, "columns"));
  for (std::size_t row = 0; row < rows; ++row) {
    double* out = matrix[static_cast<int>(row)];
    for (std::size_t column = 0; column < columns; ++column) out[column] = distance(row, column);
  }
  return matrix;
}

void check_sides(Encodings rows, Encodings columns) {
  const Encodings& first = rows.empty() ? columns : rows;
  if (first.empty()) return;
  check_all(rows, first.front().size(), "rows");
  check_all(columns, first.front().size(), "columns");
}

}  // namespace

std::vector<float> cosine_distances(Encoding encoding, Encodings others) {
  check(encoding, encoding.size(), "encoding");
  check_all(others, encoding.size(), "others");
  const double norm = direction_norm(encoding, "encoding");
  const std::vector<double> norms = direction_norms(others, "others");
  std::vector<float> distances(others.size());
  for (std::size_t i = 0; i < others.size(); ++i)
    distances[i] = static_cast<float>(cosine_distance(encoding, norm, others[i], norms[i]));
  return distances;
}

cv::Mat1d cosine_distance_matrix(Encodings rows, Encodings columns) {
  check_sides(rows, columns);
  const std::vector<double> row_norms = direction_norms(rows, "rows");
  const std::vector<double> column_norms = direction_norms(columns, "columns");
  return fill(rows.size(), columns.size(), [&](std::size_t row, std::size_t column) {
    return cosine_distance(rows[row], row_norms[row], columns[column], column_norms[column]);
  });
}

std::vector<float> euclidean_distances(Encoding encoding, Encodings others) {
  check(encoding, encoding.size(), "encoding");
  check_all(others, encoding.size(), "others");
  std::vector<float> distances(others.size());
  std::ranges::transform(others, distances.begin(), [encoding](const std::vector<float>& other) {
    return static_cast<float>(euclidean_distance(encoding, other));
  });
  return distances;
}

cv::Mat1d euclidean_distance_matrix(Encodings rows, Encodings columns) {
  check_sides(rows, columns);
  return fill(rows.size(), columns.size(), [&](std::size_t row, std::size_t column) {
    return euclidean_distance(rows[row], columns[column]);
  });
}

}  // namespace vcap
