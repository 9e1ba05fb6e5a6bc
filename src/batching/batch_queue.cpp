// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_queue.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace vcap::detail {
namespace {

// Reserves memory so that the next push_back does not throw.
template <class Element>
void make_room_for_one(std::vector<Element>& list) {
  if (list.size() == list.capacity()) list.reserve(2 * list.size() + 16);
}

}  // namespace

BatchGroup::time_point BatchGroup::oldest_arrival() const noexcept {
  time_point oldest = time_point::max();
  for (const Level& level : levels)
    if (level.oldest && level.oldest->arrival < oldest) oldest = level.oldest->arrival;
  return oldest;
}

BatchQueue::BatchQueue(Clock::duration priority_aging)
    : priority_aging_(priority_aging), buckets_(64) {}

void BatchQueue::push(BatchChunk& chunk, std::size_t count, time_point now) {
  assert(count > 0 && chunk.end + count <= chunk.limit && chunk.level < kLevels);
  if (!chunk.queued()) link(chunk, now);
  chunk.end += count;
  chunk.lane->group->size += count;
  size_ += count;
}

std::size_t BatchQueue::remove_front(BatchChunk& chunk) noexcept {
  assert(chunk.queued());
  --chunk.lane->group->size;
  --size_;
  const std::size_t item = chunk.next++;
  if (!chunk.queued()) unlink(chunk);
  return item;
}

void BatchQueue::remove(BatchChunk& chunk) noexcept {
  assert(chunk.queued());
  const std::size_t count = chunk.end - chunk.next;
  chunk.lane->group->size -= count;
  size_ -= count;
  chunk.next = chunk.end;
  unlink(chunk);
}

BatchQueue::Taken BatchQueue::take(BatchGroup& group, time_point now, std::size_t most) noexcept {
  BatchGroup::Level& level = group.levels[turn_of(group, now)];
  BatchLane& lane = *level.turn;
  BatchChunk& chunk = *lane.front;
  // If the group has only one stream and priority, takes several items at once.
  const bool alone = lane.next_turn == &lane && [&] {
    for (const BatchGroup::Level& other : group.levels)
      if (&other != &level && other.oldest) return false;
    return true;
  }();
  const std::size_t count = alone ? std::min(most, chunk.end - chunk.next) : 1;
  level.turn = lane.next_turn;
  const Taken taken{chunk.call, chunk.next, chunk.next + count, chunk.arrival};
  group.size -= count;
  size_ -= count;
  chunk.next += count;
  if (!chunk.queued()) unlink(chunk);
  return taken;
}

BatchQueue::Rank BatchQueue::rank_of(std::size_t level, const BatchChunk& oldest,
                                     time_point now) const noexcept {
  return {static_cast<Clock::duration::rep>(level) + (now - oldest.arrival) / priority_aging_,
          oldest.arrival};
}

// The level of highest rank, including the wait of its oldest chunk; of equal levels, the one with
// the longer wait. Each turn taken there brings this chunk nearer, for any stream.
std::size_t BatchQueue::turn_of(const BatchGroup& group, time_point now) const noexcept {
  std::size_t best = kLevels;
  for (std::size_t i = kLevels; i-- > 0;) {
    const BatchChunk* oldest = group.levels[i].oldest;
    if (oldest && (best == kLevels ||
                   rank_of(i, *oldest, now) > rank_of(best, *group.levels[best].oldest, now)))
      best = i;
  }
  return best;
}

BatchQueue::Rank BatchQueue::rank(const BatchGroup& group, time_point now) const noexcept {
  const std::size_t level = turn_of(group, now);
  return rank_of(level, *group.levels[level].oldest, now);
}

BatchChunk* BatchQueue::first_to_drop() const noexcept {
  for (std::size_t i = 0; i < kLevels; ++i) {
    BatchChunk* oldest = nullptr;
    for (const BatchGroup* group : groups())
      if (BatchChunk* chunk = group->levels[i].oldest;
          chunk && (!oldest || chunk->arrival < oldest->arrival))
        oldest = chunk;
    if (oldest) return oldest;
  }
  return nullptr;
}

BatchChunk* BatchQueue::first_to_expire() const noexcept {
  return deadlines_.empty() ? nullptr : deadlines_.front();
}

void BatchQueue::link(BatchChunk& chunk, time_point now) {
  const bool has_deadline = chunk.deadline != time_point::max();
  if (has_deadline) make_room_for_one(deadlines_);
  BatchGroup& group = group_of(chunk.key);
  BatchLane& lane = lane_of(group, chunk.stream, chunk.level);
  if (group.size == 0) {
    std::swap(groups_[group.place], groups_[active_]);
    groups_[group.place]->place = group.place;
    group.place = active_++;
  }
  chunk.arrival = now;
  if (has_deadline) {
    deadlines_.push_back(nullptr);
    heap_place(deadlines_.size() - 1, &chunk);
    heap_up(deadlines_.size() - 1);
  }
  chunk.lane = &lane;
  chunk.ahead = lane.back;
  chunk.behind = nullptr;
  (lane.back ? lane.back->behind : lane.front) = &chunk;
  lane.back = &chunk;
  BatchGroup::Level& level = group.levels[chunk.level];
  chunk.older = level.newest;
  chunk.newer = nullptr;
  (level.newest ? level.newest->newer : level.oldest) = &chunk;
  level.newest = &chunk;
}

void BatchQueue::unlink(BatchChunk& chunk) noexcept {
  if (chunk.deadline != time_point::max()) heap_remove(chunk);
  BatchLane& lane = *chunk.lane;
  BatchGroup& group = *lane.group;
  (chunk.ahead ? chunk.ahead->behind : lane.front) = chunk.behind;
  (chunk.behind ? chunk.behind->ahead : lane.back) = chunk.ahead;
  if (!lane.front) free_lane(lane);
  BatchGroup::Level& level = group.levels[chunk.level];
  (chunk.older ? chunk.older->newer : level.oldest) = chunk.newer;
  (chunk.newer ? chunk.newer->older : level.newest) = chunk.older;
  if (group.size == 0) free_group(group);
}

// The group of a key. If no item of the key is queued, a free group, which link() makes active.
BatchGroup& BatchQueue::group_of(std::uint64_t key) {
  for (BatchGroup* group : groups())
    if (group->key == key) return *group;
  if (active_ == groups_.size()) {
    make_room_for_one(groups_);
    groups_.push_back(&group_storage_.emplace_back());
    groups_.back()->place = groups_.size() - 1;
  }
  groups_[active_]->key = key;
  return *groups_[active_];
}

void BatchQueue::free_group(BatchGroup& group) noexcept {
  --active_;
  std::swap(groups_[group.place], groups_[active_]);
  groups_[group.place]->place = group.place;
  group.place = active_;
}

std::size_t BatchQueue::bucket_of(const BatchGroup& group, std::uint64_t stream,
                                  std::uint8_t level) const noexcept {
  // Fibonacci hashing, so that ids spread whichever bits differ; the size is a power of two.
  return ((stream + group.key * 31 + level) * 0x9E3779B97F4A7C15u >> 32) & (buckets_.size() - 1);
}

BatchLane& BatchQueue::lane_of(BatchGroup& group, std::uint64_t stream, std::uint8_t level) {
  for (BatchLane* lane = buckets_[bucket_of(group, stream, level)]; lane;
       lane = lane->next_in_bucket)
    if (lane->stream == stream && lane->level == level && lane->group == &group) return *lane;

  if (lanes_in_use_ >= buckets_.size()) grow_buckets();
  if (!free_lanes_) free_lanes_ = &lanes_.emplace_back();
  BatchLane& lane = *std::exchange(free_lanes_, free_lanes_->next_in_bucket);
  BatchLane*& bucket = buckets_[bucket_of(group, stream, level)];
  lane = {.group = &group, .stream = stream, .level = level, .next_in_bucket = bucket};
  bucket = &lane;
  ++lanes_in_use_;
  // A new lane's first turn comes after all others': at the ring's end, which is before the next
  // turn.
  BatchLane*& turn = group.levels[level].turn;
  if (!turn) turn = lane.next_turn = lane.previous_turn = &lane;
  lane.next_turn = turn;
  lane.previous_turn = turn->previous_turn;
  lane.previous_turn->next_turn = &lane;
  turn->previous_turn = &lane;
  return lane;
}

void BatchQueue::free_lane(BatchLane& lane) noexcept {
  BatchLane*& turn = lane.group->levels[lane.level].turn;
  if (turn == &lane) turn = lane.next_turn == &lane ? nullptr : lane.next_turn;
  lane.previous_turn->next_turn = lane.next_turn;
  lane.next_turn->previous_turn = lane.previous_turn;
  BatchLane** link = &buckets_[bucket_of(*lane.group, lane.stream, lane.level)];
  while (*link != &lane) link = &(*link)->next_in_bucket;
  *link = lane.next_in_bucket;
  lane.next_in_bucket = std::exchange(free_lanes_, &lane);
  --lanes_in_use_;
}

void BatchQueue::grow_buckets() {
  std::vector<BatchLane*> old(buckets_.size() * 2);
  old.swap(buckets_);
  for (BatchLane* lane : old) {
    while (lane) {
      BatchLane*& bucket = buckets_[bucket_of(*lane->group, lane->stream, lane->level)];
      BatchLane* next = lane->next_in_bucket;
      lane->next_in_bucket = bucket;
      bucket = std::exchange(lane, next);
    }
  }
}

void BatchQueue::heap_place(std::size_t slot, BatchChunk* chunk) noexcept {
  deadlines_[slot] = chunk;
  chunk->deadline_slot = slot;
}

void BatchQueue::heap_up(std::size_t slot) noexcept {
  BatchChunk* chunk = deadlines_[slot];
  while (slot > 0) {
    const std::size_t parent = (slot - 1) / 2;
    if (deadlines_[parent]->deadline <= chunk->deadline) break;
    heap_place(slot, deadlines_[parent]);
    slot = parent;
  }
  heap_place(slot, chunk);
}

void BatchQueue::heap_down(std::size_t slot) noexcept {
  BatchChunk* chunk = deadlines_[slot];
  for (std::size_t child; (child = 2 * slot + 1) < deadlines_.size(); slot = child) {
    if (child + 1 < deadlines_.size() &&
        deadlines_[child + 1]->deadline < deadlines_[child]->deadline)
      ++child;
    if (chunk->deadline <= deadlines_[child]->deadline) break;
    heap_place(slot, deadlines_[child]);
  }
  heap_place(slot, chunk);
}

void BatchQueue::heap_remove(BatchChunk& chunk) noexcept {
  const std::size_t slot = chunk.deadline_slot;
  BatchChunk* last = deadlines_.back();
  deadlines_.pop_back();
  if (last == &chunk) return;
  heap_place(slot, last);
  heap_up(slot);
  heap_down(last->deadline_slot);
}

}  // namespace vcap::detail
