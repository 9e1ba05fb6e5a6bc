// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace vcap {

/// How many inputs a model takes at once. Thread safety: value.
struct BatchSizes {
  std::size_t preferred = 0;  ///< the batch size that suits it best; 0: any size
  std::size_t maximum = 1;    ///< at least 1, and not below `preferred`
  bool operator==(const BatchSizes&) const = default;
};

}  // namespace vcap
