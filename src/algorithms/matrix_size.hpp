// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "vcap/base/error.hpp"

namespace vcap {

/// A count as one side of a cv::Mat. Throws InvalidArgument if it does not fit into an int.
inline int matrix_side(std::size_t count, const char* what) {
  constexpr int limit = std::numeric_limits<int>::max();
  if (count > static_cast<std::size_t>(limit))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "matrix: " + std::to_string(count) + " " + what + " are more than " +
                              std::to_string(limit) + "; split them into parts");
  return static_cast<int>(count);
}

}  // namespace vcap
