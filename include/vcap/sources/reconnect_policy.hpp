// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <limits>

#include "vcap/base/export.hpp"

namespace vcap {

/// How a live source reconnects to a lost camera. Delays between attempts grow, so that a camera
/// that is starting is not disturbed. They are random, so that the streams of one server do not
/// reconnect at the same moment. Thread safety: value.
struct VCAP_EXPORT ReconnectPolicy {
  std::chrono::milliseconds first_delay{500};  ///< 0 or more
  double factor = 2;                           ///< growth from one delay to the next; 1 to 100
  std::chrono::milliseconds max_delay{30'000};
  double jitter = 0.2;    ///< fraction of a delay, 0 to 1, that may be subtracted at random
  int max_attempts = 10;  ///< in a row without a frame; then the stream fails; 0: at once

  /// For max_attempts: more than any stream will make.
  static constexpr int endless = std::numeric_limits<int>::max();

  /// The delay before attempt number `attempt`, from 1; `chance` is a random number from 0 to 1.
  /// Never above max_delay.
  std::chrono::nanoseconds delay(int attempt, double chance) const;
  /// Throws InvalidArgument naming a value that is out of its range.
  void check() const;

  friend bool operator==(const ReconnectPolicy&, const ReconnectPolicy&) = default;
};

}  // namespace vcap
