// SPDX-License-Identifier: Apache-2.0
#include "media/damage_log.hpp"

extern "C" {
#include <libavutil/avutil.h>
}

#include <cstddef>
#include <utility>

namespace vcap {
namespace {

/// No decoder holds back this many pictures.
constexpr std::size_t kMostWithin = 512;

}  // namespace

void DamageLog::went_in(std::int64_t time) {
  if (time == AV_NOPTS_VALUE) return;
  is_full_ = is_full_ || within_.size() >= kMostWithin;
  if (within_.size() >= kMostWithin) within_.erase(within_.begin());
  within_.insert(time);
}

bool DamageLog::came_out(std::int64_t time) {
  if (time == AV_NOPTS_VALUE) return std::exchange(noted_, false);
  const auto first_after = within_.upper_bound(time);
  bool is_missing = std::exchange(is_full_, false);
  for (auto one = within_.begin(); one != first_after; ++one) is_missing |= *one != time;
  within_.erase(within_.begin(), first_after);
  if (!noted_ || !is_missing) return false;
  noted_ = false;
  return true;
}

}  // namespace vcap
