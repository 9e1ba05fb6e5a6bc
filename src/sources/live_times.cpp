// SPDX-License-Identifier: Apache-2.0
#include "sources/live_times.hpp"

#include <algorithm>

namespace vcap {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kLeastGap = std::chrono::seconds(1);
constexpr int kMostPicturesInNoGap = 5;
/// Pictures may be delayed and then arrive together. If the camera's time advances by more than
/// this beyond the wait for the picture, its clock was set.
constexpr nanoseconds kMostBehind = std::chrono::seconds(10);
/// Each step has a weight of 1/kPaceShare in the pace.
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
  // Two pictures may have the same clock tick.
  time.pts = std::max(time.pts, last_pts_ + nanoseconds(1));
  connected_ = true;
  last_arrival_ = now;
  last_pts_ = time.pts;
  return time;
}

bool LiveTimes::follows_gap(nanoseconds step, nanoseconds waited) noexcept {
  if (step < -kLeastGap || step > waited + kMostBehind) {
    offset_.reset();  // the camera's clock was set
    return true;
  }
  if (step <= nanoseconds(0)) return false;  // the times are just slightly out of order
  const bool gap = pace_ && step > std::max(kLeastGap, kMostPicturesInNoGap * *pace_);
  // Gaps count too, so that a camera that has become slow soon counts as slow.
  pace_ = pace_ ? *pace_ + (step - *pace_) / kPaceShare : step;
  return gap;
}

}  // namespace vcap
