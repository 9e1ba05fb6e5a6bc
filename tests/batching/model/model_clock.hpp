// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/execution.hpp"
#include "vcap/base/clock.hpp"

namespace vcap::model {

/// Gives the time of the execution.
class ModelClock final : public Clock {
 public:
  time_point now() const noexcept override {
    Execution& execution = *Execution::current();
    execution.learn(static_cast<std::uint64_t>(execution.now().time_since_epoch().count()));
    return execution.now();
  }
  void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                  time_point time) override {
    condition.wait_until(lock, time);
  }
};

}  // namespace vcap::model
