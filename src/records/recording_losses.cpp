// SPDX-License-Identifier: Apache-2.0
#include "records/recording_losses.hpp"

#include <iterator>
#include <utility>

namespace vcap {
namespace {

LostBefore what_goes_with(const FrameRecord& record) {
  return {.frames = {{.frame_index = record.frame.index}},
          .discontinuities = record.discontinuities,
          .drops = record.drops,
          .option_changes = record.option_changes,
          .replacements = record.replacements,
          .config_changes = record.config_changes};
}

template <class Item>
void append_all(std::vector<Item>& list, std::vector<Item>&& more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

void add_lost(LostBefore& lost, LostBefore&& later) {
  for (const LostFrames& one : later.frames) {
    LostFrames* const last = lost.frames.empty() ? nullptr : &lost.frames.back();
    if (last && last->frame_index + last->count == one.frame_index)
      last->count += one.count;
    else
      lost.frames.push_back(one);
  }
  append_all(lost.discontinuities, std::move(later.discontinuities));
  append_all(lost.drops, std::move(later.drops));
  append_all(lost.option_changes, std::move(later.option_changes));
  append_all(lost.replacements, std::move(later.replacements));
  append_all(lost.config_changes, std::move(later.config_changes));
}

}  // namespace

void RecordingLosses::expect(const FrameRecord& record) {
  const MutexLock lock(mutex_);
  expected_.push_back({record.frame.index, what_goes_with(record)});
}

LostBefore RecordingLosses::arrive(std::int64_t frame_index) {
  const MutexLock lock(mutex_);
  for (; !expected_.empty() && expected_.front().frame_index != frame_index; expected_.pop_front())
    add_lost(unwritten_, std::move(expected_.front().if_lost));
  if (!expected_.empty()) expected_.pop_front();
  return std::exchange(unwritten_, {});
}

void RecordingLosses::fail(const FrameRecord& record, LostBefore before) {
  add_lost(before, what_goes_with(record));
  const MutexLock lock(mutex_);
  unwritten_ = std::move(before);
}

}  // namespace vcap
