// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <limits>

#include "vcap/base/export.hpp"

namespace vcap {

/// How a live source comes back to a camera that it has lost: it tries again after delays that
/// grow, so that a camera which starts is not held up, and that differ by chance, so that the
/// streams of one server do not all come at the same moment. Thread safety: value.
struct VCAP_EXPORT ReconnectPolicy {
  std::chrono::milliseconds first_delay{500};  ///< 0 or more
  double factor = 2;                           ///< each delay to the one before; 1 to 100
  std::chrono::milliseconds max_delay{30'000};
  double jitter = 0.2;    ///< the share of a delay, 0 to 1, that chance may take away
  int max_attempts = 10;  ///< in a row without a frame, then the stream fails; 0: at once

  /// As max_attempts: more than any stream lives to see.
  static constexpr int endless = std::numeric_limits<int>::max();

  /// Before the attempt of that number, from 1; `chance` is from 0 to 1. Never above max_delay.
  std::chrono::nanoseconds delay(int attempt, double chance) const;
  /// Throws InvalidArgument naming a value that is not as said above.
  void check() const;

  friend bool operator==(const ReconnectPolicy&, const ReconnectPolicy&) = default;
};

}  // namespace vcap
