// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// Throws InvalidArgument unless `iou` is above 0 and at most 1.
inline void check_iou(const char* function, double iou) {
  if (iou > 0 && iou <= 1) return;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        std::string(function) + ": the IoU " + number_text(iou) +
                            " is not allowed; give a number above 0 and at most 1");
}

/// Throws InvalidArgument if a coordinate is not finite or a side is negative.
inline void check_box(const char* function, std::size_t frame, const BoundingBox& box) {
  const bool finite = std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) &&
                      std::isfinite(box.y2);
  if (finite && box.width() >= 0 && box.height() >= 0) return;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        std::string(function) + ": frame " + std::to_string(frame) +
                            " has a box from (" + number_text(box.x1) + ", " + number_text(box.y1) +
                            ") to (" + number_text(box.x2) + ", " + number_text(box.y2) +
                            "); give finite coordinates with x1 <= x2 and y1 <= y2");
}

/// part / whole; absent if `whole` is 0.
inline std::optional<double> ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace vcap
