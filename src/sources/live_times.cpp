// SPDX-License-Identifier: Apache-2.0
#include "sources/live_times.hpp"

#include <algorithm>

namespace vcap {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kLeastGap = std::chrono::seconds(1);
constexpr int kMostPicturesInNoGap = 5;
/// Pictures may have piled up on the way while none came. A step that is longer than the wait for
/// it by more than that is a clock that was set.
constexpr nanoseconds kMostBehind = std::chrono::seconds(10);
/// How much of each step goes into the pace.
constexpr int kPaceShare = 4;

}  // namespace

void LiveTimes::begin_connection() noexcept {
  connected_ = false;
  last_told_.reset();
  offset_.reset();
  pace_.reset();
}

LiveTimes::Time LiveTimes::next(std::chrono::steady_clock::time_point arrival,
                                std::optional<nanoseconds> told) noexcept {
  if (!first_) first_ = arrival;
  const nanoseconds now = arrival - *first_;
  const nanoseconds waited = now - last_arrival_;
  Time time{.pts = connected_ ? last_pts_ + waited : now};
  if (told) {
    if (last_told_) time.gap = follows_gap(*told - *last_told_, now - last_told_arrival_);
    if (!offset_) offset_ = std::max(now, last_pts_ + nanoseconds(1)) - *told;
    time.pts = *told + *offset_;
    last_told_ = told;
    last_told_arrival_ = now;
  }
  // Two pictures may come within one tick of a clock.
  time.pts = std::max(time.pts, last_pts_ + nanoseconds(1));
  connected_ = true;
  last_arrival_ = now;
  last_pts_ = time.pts;
  return time;
}

bool LiveTimes::follows_gap(nanoseconds step, nanoseconds waited) noexcept {
  if (step < -kLeastGap || step > waited + kMostBehind) {
    offset_.reset();  // its clock was set
    return true;
  }
  if (step <= nanoseconds(0)) return false;  // no more than times that are not quite in order
  const bool gap = pace_ && step > std::max(kLeastGap, kMostPicturesInNoGap * *pace_);
  // Gaps too, so that a camera that has become slow is soon taken for a slow one.
  pace_ = pace_ ? *pace_ + (step - *pace_) / kPaceShare : step;
  return gap;
}

}  // namespace vcap
