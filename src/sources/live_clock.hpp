// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "vcap/base/export.hpp"

namespace vcap {

/// Time and chance, as live sources have them. Tests bring their own.
class VCAP_EXPORT LiveClock {
 public:
  virtual ~LiveClock();
  virtual std::chrono::steady_clock::time_point now() = 0;
  /// Comes back after that time, or at once where stop is requested.
  virtual void wait(std::chrono::nanoseconds time, const std::stop_token& stop) = 0;
  /// From 0 to 1, evenly.
  virtual double chance() = 0;
};

/// The machine's.
std::unique_ptr<LiveClock> make_live_clock();

}  // namespace vcap
