// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <opencv2/core/types.hpp>

#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// Where objects stood: counts of the middle of the lower edge of their boxes, on a grid over the
/// picture. Thread safety: value.
class HeatGrid {
 public:
  static constexpr std::size_t kColumns = 64;
  static constexpr std::size_t kRows = 36;

  /// `resolution`: of the picture, in pixels. A point outside the picture is not counted.
  void add(const BoundingBox& box, const cv::Size& resolution) noexcept;

  std::uint32_t at(std::size_t row, std::size_t column) const noexcept {
    return counts_[row * kColumns + column];
  }
  std::uint32_t largest() const noexcept { return largest_; }

 private:
  std::array<std::uint32_t, kRows * kColumns> counts_{};
  std::uint32_t largest_ = 0;
};

}  // namespace vcap
