// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vcap {

/// Rows of a sequence, from `begin` up to but not including `end`. Thread safety: value.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const RowRange&) const = default;
};

}  // namespace vcap
