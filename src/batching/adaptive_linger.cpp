// SPDX-License-Identifier: Apache-2.0
#include "batching/adaptive_linger.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace vcap::detail {
namespace {

// Weight of the newest batch in the averages: they follow a change within some ten batches, but not
// a single odd batch.
constexpr double kNewest = 0.25;

// With many callers on few processors, the last of them comes back long after the first. As long as
// they come at this pace, each adds more to the batch than the wait for it costs. Shares of the
// wait without arrivals.
constexpr double kExtension = 0.5;
constexpr double kLongest = 3;

}  // namespace

void AdaptiveLinger::completed(std::size_t calls, time_point now, duration predict) noexcept {
  if (!enabled_) return;
  if (answered_ > 0) {
    const double rate =
        std::min(1.0, static_cast<double>(returned_) / static_cast<double>(answered_));
    return_rate_ += kNewest * (rate - return_rate_);
  }
  const double took = std::chrono::duration<double, std::nano>(predict).count();
  predict_ns_ += (predict_ns_ == 0 ? 1 : kNewest) * (took - predict_ns_);
  answered_ = calls;
  // Rounded to nearest, not up: if callers rarely come back in time, it waits for no caller.
  expected_ = static_cast<std::size_t>(std::lround(return_rate_ * static_cast<double>(calls)));
  returned_ = 0;
  const std::chrono::duration<double, std::nano> wait(share_ * predict_ns_);
  deadline_ = now + std::chrono::duration_cast<duration>(wait);
  latest_deadline_ = now + std::chrono::duration_cast<duration>(kLongest * wait);
  extension_ = std::chrono::duration_cast<duration>(kExtension * wait);
}

void AdaptiveLinger::arrived(time_point now) noexcept {
  if (now >= deadline_) return;  // the wait is over
  ++returned_;
  deadline_ = std::max(deadline_, std::min(now + extension_, latest_deadline_));
}

}  // namespace vcap::detail
