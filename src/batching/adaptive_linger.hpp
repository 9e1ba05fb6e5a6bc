// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "vcap/base/clock.hpp"

namespace vcap::detail {

/// Decides how long a free worker waits for the callers that were just answered.
///
/// In a closed loop (each caller sends again soon after its answer), a worker that immediately
/// takes what is queued runs small batches: 78 to 96 % of the throughput of full ones; a short wait
/// gives 94 to 98 %. It counts calls that arrive after the callers of a batch were answered, and
/// compares them with the number answered. Calls queued before are in the batch anyway; if they
/// counted too, it would wait for callers that cannot come. The wait ends at a share of the
/// measured predict time; while callers come back, each of them extends it by half of that share,
/// up to three times the share. The number of callers that return within it is measured at every
/// batch, even without a wait, so that slow callers cost nothing. Thread safety: thread-compatible.
class AdaptiveLinger {
 public:
  using time_point = Clock::time_point;
  using duration = Clock::duration;

  AdaptiveLinger(bool enabled, double share) : enabled_(enabled), share_(share) {}

  /// A batch took `predict`, and its `calls` callers are about to be answered.
  void completed(std::size_t calls, time_point now, duration predict) noexcept;
  void arrived(time_point now) noexcept;

  /// Until when to wait for callers that have not returned; time_point::min() for no wait.
  time_point until() const noexcept {
    return returned_ < expected_ ? deadline_ : time_point::min();
  }

 private:
  const bool enabled_;
  const double share_;
  std::size_t answered_ = 0;
  std::size_t expected_ = 0;
  std::size_t returned_ = 0;
  time_point deadline_ = time_point::min();
  time_point latest_deadline_ = time_point::min();
  duration extension_{0};   // of the deadline, counted from an arrival
  double return_rate_ = 1;  // optimistic: a wrong estimate costs one linger
  double predict_ns_ = 0;
};

}  // namespace vcap::detail
