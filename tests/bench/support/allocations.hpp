// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace vcap::bench {

/// How often this program has called operator new, in all threads and libraries.
std::size_t allocations() noexcept;

}  // namespace vcap::bench
