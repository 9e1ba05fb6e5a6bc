// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

namespace vcap {

/// The number of the machine's cores, at least one.
inline std::size_t cores() noexcept {
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

}  // namespace vcap
