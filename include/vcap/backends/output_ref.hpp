// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace vcap {

/// The output of a model that a reader takes: the one of that name or, if the name is empty, the
/// one at that index. Thread safety: value.
struct OutputRef {
  std::string name{};
  std::size_t index = 0;  ///< in the model's order, counted from 0

  bool operator==(const OutputRef&) const = default;
};

}  // namespace vcap
