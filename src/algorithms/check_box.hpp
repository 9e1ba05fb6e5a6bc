// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// Throws InvalidArgument if a box cannot be tracked. Its coordinates must be within ±1e9, and its
/// sides within 1e-6 to 1e9, so that squares and sums of them neither overflow nor vanish.
inline void check_box(const char* what, const BoundingBox& box) {
  const auto refuse = [&](const char* name, double value, const char* allowed) {
    throw InvalidArgument(ErrorCode::invalid_argument, std::string(what) + ": the box's " + name +
                                                           " is " + number_text(value) +
                                                           "; it must be within " + allowed +
                                                           " pixels, so leave such boxes out");
  };
  constexpr const char* kNames[] = {"x1", "y1", "x2", "y2"};
  for (int i = 0; i < 4; ++i)
    if (!(std::abs(box.rect()[i]) <= 1e9)) refuse(kNames[i], box.rect()[i], "±1e9");
  if (!(box.width() >= 1e-6 && box.width() <= 1e9)) refuse("width", box.width(), "1e-6 to 1e9");
  if (!(box.height() >= 1e-6 && box.height() <= 1e9)) refuse("height", box.height(), "1e-6 to 1e9");
}

}  // namespace vcap
