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
  deadline_ = now + std::chrono::duration_cast<duration>(
                        std::chrono::duration<double, std::nano>(share_ * predict_ns_));
}

void AdaptiveLinger::arrived(time_point now) noexcept {
  if (now <= deadline_) ++returned_;
}

}  // namespace vcap::detail
