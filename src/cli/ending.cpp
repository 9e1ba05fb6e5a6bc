// SPDX-License-Identifier: Apache-2.0
#include "cli/ending.hpp"

#include <algorithm>
#include <chrono>

namespace vcap::cli {
namespace {

/// A call that is not in progress for so long may be a quick one that has just begun.
constexpr std::chrono::seconds kQuickCall{1};
/// The time between two rounds of giving up calls.
constexpr std::chrono::seconds kRound{1};
/// What frames that go on, and their records, get at least.
constexpr std::chrono::seconds kLeast{3};

}  // namespace

Ending::Step Ending::next(Clock::time_point now, int signals, bool foreign_exit) {
  if (signals == 0 && !foreign_exit) return Step::wait;
  if (!stopped_) {
    stopped_ = true;
    give_up_at_ = now + grace_;
    leave_at_ = give_up_at_ + std::max<Clock::duration>(grace_, kLeast);
    return Step::stop;
  }
  if (signals > 1 && !hurried_) {
    hurried_ = true;
    give_up_at_ = std::min(give_up_at_, now);
    leave_at_ = std::min<Clock::time_point>(leave_at_, now + kLeast);
  }
  if (foreign_exit && !foreign_exit_) {
    foreign_exit_ = true;
    give_up_at_ = std::min<Clock::time_point>(give_up_at_, now + kQuickCall);
  }
  if (now >= leave_at_) return Step::leave;
  if (now < give_up_at_) return Step::wait;
  give_up_at_ = now + kRound;
  return Step::give_up;
}

std::optional<Clock::time_point> Ending::wakes_at() const {
  if (!stopped_) return std::nullopt;
  return std::min(give_up_at_, leave_at_);
}

Clock::duration Ending::age() const noexcept {
  if (hurried_) return Clock::duration(0);
  return std::min<Clock::duration>(grace_, kQuickCall);
}

}  // namespace vcap::cli
