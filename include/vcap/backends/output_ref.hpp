// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace vcap {

/// Which of a model's outputs a reader takes: the one of that name, or, if the name is empty, the
/// one at that place. Thread safety: value.
struct OutputRef {
  std::string name{};
  std::size_t index = 0;  ///< in the model's order, counted from 0

  bool operator==(const OutputRef&) const = default;
};

}  // namespace vcap
