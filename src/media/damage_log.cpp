// SPDX-License-Identifier: Apache-2.0
#include "media/damage_log.hpp"

extern "C" {
#include <libavutil/avutil.h>
}

#include <algorithm>
#include <cstddef>

namespace vcap {
namespace {

/// No decoder holds back this many pictures.
constexpr std::size_t kMostWithin = 512;

}  // namespace

void MissingPictures::add(std::int64_t time) {
  ++count;
  if (first.size() < kMostListed) first.push_back(time);
}

void MissingPictures::add(const MissingPictures& later) {
  const std::int64_t all = count + later.count;
  for (const std::int64_t time : later.first) add(time);
  count = all;
}

void DamageLog::went_in(std::int64_t time) {
  if (time == AV_NOPTS_VALUE) return;
  if (within_.size() >= kMostWithin) overdue_.add(within_.extract(within_.begin()).value());
  within_.insert(time);
}

bool DamageLog::came_out(std::int64_t time) {
  is_timeless_ = time == AV_NOPTS_VALUE;
  if (is_timeless_) return settle({.count = notes_});
  MissingPictures found = std::exchange(overdue_, {});
  const auto first_after = within_.upper_bound(time);
  for (auto one = within_.begin(); one != first_after; ++one)
    if (*one != time) found.add(*one);
  within_.erase(within_.begin(), first_after);
  return settle(found);
}

void DamageLog::end() {
  MissingPictures found = std::exchange(overdue_, {});
  for (const std::int64_t time : within_) found.add(time);
  within_.clear();
  if (is_timeless_) found = {.count = notes_};
  settle(found);
}

/// Whether the pictures that did not come out are missing because of damage. Without damage, they
/// are pictures that are never shown.
bool DamageLog::settle(const MissingPictures& found) {
  if (notes_ == 0 || found.count == 0) return false;
  notes_ = std::max<std::int64_t>(notes_ - found.count, 0);
  missing_.add(found);
  return true;
}

}  // namespace vcap
