// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "vcap/base/error.hpp"

namespace vcap::detail {

/// The errors of requests that got no output. Each says what to do.
BatchError closed_error();
BatchError cancelled_error();
BatchError deadline_error(std::size_t waiting, std::size_t running);
BatchError queue_full_error(std::size_t bound, std::size_t wanted);
BatchError dropped_error(std::size_t bound);
BatchError reentrant_error();

}  // namespace vcap::detail
