// SPDX-License-Identifier: Apache-2.0
#include "algorithms/orientation.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace vcap {
namespace {

int sign_of(double value) noexcept { return value > 0 ? 1 : value < 0 ? -1 : 0; }

/// A sum that is kept exactly, as parts of rising magnitude that share no digits (Shewchuk's
/// GROW-EXPANSION).
class ExactSum {
 public:
  void add(double term) noexcept {
    double sum = term;
    for (std::size_t i = 0; i < size_; ++i) {
      const double part = parts_[i];
      const double rounded = sum + part;
      const double virtual_part = rounded - sum;
      parts_[i] = (sum - (rounded - virtual_part)) + (part - virtual_part);
      sum = rounded;
    }
    parts_[size_++] = sum;
  }
  /// Adds a · b: the rounded product, and its rounding error, which is a double, too.
  void add_product(double a, double b) noexcept {
    const double product = a * b;
    add(std::fma(a, b, -product));
    add(product);
  }
  int sign() const noexcept {
    for (std::size_t i = size_; i > 0; --i)
      if (parts_[i - 1] != 0) return sign_of(parts_[i - 1]);
    return 0;
  }

 private:
  std::array<double, 12> parts_{};  // of six products
  std::size_t size_ = 0;
};

}  // namespace

int orientation(cv::Point2d a, cv::Point2d b, cv::Point2d c) noexcept {
  const double left = (b.x - a.x) * (c.y - a.y);
  const double right = (b.y - a.y) * (c.x - a.x);
  const double determinant = left - right;
  constexpr double kHalfUlp = 0x1p-53;
  const double error = (3 + 16 * kHalfUlp) * kHalfUlp * (std::abs(left) + std::abs(right));
  if (std::abs(determinant) > error) return sign_of(determinant);
  ExactSum sum;  // the same determinant, multiplied out, without differences that are rounded
  sum.add_product(b.x, c.y);
  sum.add_product(-b.x, a.y);
  sum.add_product(-a.x, c.y);
  sum.add_product(-b.y, c.x);
  sum.add_product(b.y, a.x);
  sum.add_product(a.y, c.x);
  return sum.sign();
}

}  // namespace vcap
