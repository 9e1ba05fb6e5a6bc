// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/clock.hpp"

namespace vcap::detail {

/// The processor time that the calling thread has used. Thread-safe.
Clock::duration thread_time() noexcept;

}  // namespace vcap::detail
