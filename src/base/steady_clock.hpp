// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/clock.hpp"

namespace vcap::detail {

/// The machine's monotonic clock. Thread safety: thread-safe.
class VCAP_EXPORT SteadyClock final : public Clock {
 public:
  time_point now() const noexcept override;
  void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                  time_point time) override;
};

}  // namespace vcap::detail
