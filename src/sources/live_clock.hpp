// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

namespace vcap {

/// The clock and random numbers of live sources. Tests inject their own.
class LiveClock {
 public:
  virtual ~LiveClock();
  /// [any thread]
  virtual std::chrono::steady_clock::time_point now() = 0;
  /// Returns after that time, or at once if stop is requested.
  virtual void wait(std::chrono::nanoseconds time, const std::stop_token& stop) = 0;
  /// A random number from 0 to 1, uniformly distributed.
  virtual double chance() = 0;
};

/// The machine's steady clock and random numbers.
std::unique_ptr<LiveClock> make_live_clock();

}  // namespace vcap
