// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_queue.hpp"

#include <cassert>
#include <utility>

namespace vcap::detail {

BatchQueue::BatchQueue(BatchClock::duration priority_aging)
    : priority_aging_(priority_aging), buckets_(64) {}

void BatchQueue::push(BatchRequest& request) {
  assert(request.state != BatchRequest::State::queued && request.level < kLevels);
  const bool has_deadline = request.deadline != time_point::max();
  if (has_deadline) deadlines_.reserve(deadlines_.size() + 1);
  BatchLane& lane = lane_of(request.stream, request.level);
  if (has_deadline) {
    deadlines_.push_back(nullptr);
    heap_place(deadlines_.size() - 1, &request);
    heap_up(deadlines_.size() - 1);
  }
  request.lane = &lane;
  request.ahead = lane.back;
  request.behind = nullptr;
  (lane.back ? lane.back->behind : lane.front) = &request;
  lane.back = &request;
  Level& level = levels_[request.level];
  request.older = level.newest;
  request.newer = nullptr;
  (level.newest ? level.newest->newer : level.oldest) = &request;
  level.newest = &request;
  request.state = BatchRequest::State::queued;
  ++size_;
}

void BatchQueue::remove(BatchRequest& request) noexcept {
  assert(request.state == BatchRequest::State::queued);
  if (request.deadline != time_point::max()) heap_remove(request);
  BatchLane& lane = *request.lane;
  (request.ahead ? request.ahead->behind : lane.front) = request.behind;
  (request.behind ? request.behind->ahead : lane.back) = request.ahead;
  if (!lane.front) free_lane(lane);
  Level& level = levels_[request.level];
  (request.older ? request.older->newer : level.oldest) = request.newer;
  (request.newer ? request.newer->older : level.newest) = request.older;
  request.state = BatchRequest::State::taken;
  --size_;
}

BatchRequest* BatchQueue::take(time_point now) noexcept {
  // The level that ranks highest once its longest wait is counted in; between equals the longer
  // wait. Each turn taken there brings that longest waiting one nearer, whatever its stream.
  Level* best = nullptr;
  BatchClock::duration::rep best_rank = 0;
  for (std::size_t i = kLevels; i-- > 0;) {
    Level& level = levels_[i];
    if (!level.oldest) continue;
    const auto rank =
        static_cast<BatchClock::duration::rep>(i) + (now - level.oldest->arrival) / priority_aging_;
    if (!best || rank > best_rank ||
        (rank == best_rank && level.oldest->arrival < best->oldest->arrival)) {
      best = &level;
      best_rank = rank;
    }
  }
  if (!best) return nullptr;
  BatchLane* lane = best->turn;
  best->turn = lane->next_turn;
  BatchRequest* request = lane->front;
  remove(*request);
  return request;
}

BatchQueue::time_point BatchQueue::oldest_arrival() const noexcept {
  time_point oldest = time_point::max();
  for (const Level& level : levels_)
    if (level.oldest && level.oldest->arrival < oldest) oldest = level.oldest->arrival;
  return oldest;
}

BatchRequest* BatchQueue::first_to_drop() const noexcept {
  for (const Level& level : levels_)
    if (level.oldest) return level.oldest;
  return nullptr;
}

BatchRequest* BatchQueue::first_to_expire() const noexcept {
  return deadlines_.empty() ? nullptr : deadlines_.front();
}

std::size_t BatchQueue::bucket_of(std::uint64_t stream, std::uint8_t level) const noexcept {
  // Fibonacci hashing, so that ids that differ in any bits spread; the size is a power of two.
  return ((stream + level) * 0x9E3779B97F4A7C15u >> 32) & (buckets_.size() - 1);
}

BatchLane& BatchQueue::lane_of(std::uint64_t stream, std::uint8_t level) {
  for (BatchLane* lane = buckets_[bucket_of(stream, level)]; lane; lane = lane->next_in_bucket)
    if (lane->stream == stream && lane->level == level) return *lane;

  if (lanes_in_use_ >= buckets_.size()) grow_buckets();
  if (!free_lanes_) free_lanes_ = &lanes_.emplace_back();
  BatchLane& lane = *std::exchange(free_lanes_, free_lanes_->next_in_bucket);
  BatchLane*& bucket = buckets_[bucket_of(stream, level)];
  lane = {.stream = stream, .level = level, .next_in_bucket = bucket};
  bucket = &lane;
  ++lanes_in_use_;
  // Its first turn comes after everyone's: behind the ring's end, which is before the next turn.
  BatchLane*& turn = levels_[level].turn;
  if (!turn) turn = lane.next_turn = lane.previous_turn = &lane;
  lane.next_turn = turn;
  lane.previous_turn = turn->previous_turn;
  lane.previous_turn->next_turn = &lane;
  turn->previous_turn = &lane;
  return lane;
}

void BatchQueue::free_lane(BatchLane& lane) noexcept {
  BatchLane*& turn = levels_[lane.level].turn;
  if (turn == &lane) turn = lane.next_turn == &lane ? nullptr : lane.next_turn;
  lane.previous_turn->next_turn = lane.next_turn;
  lane.next_turn->previous_turn = lane.previous_turn;
  BatchLane** link = &buckets_[bucket_of(lane.stream, lane.level)];
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
      BatchLane*& bucket = buckets_[bucket_of(lane->stream, lane->level)];
      BatchLane* next = lane->next_in_bucket;
      lane->next_in_bucket = std::exchange(bucket, lane);
      lane = next;
    }
  }
}

void BatchQueue::heap_place(std::size_t slot, BatchRequest* request) noexcept {
  deadlines_[slot] = request;
  request->deadline_slot = slot;
}

void BatchQueue::heap_up(std::size_t slot) noexcept {
  BatchRequest* request = deadlines_[slot];
  while (slot > 0) {
    const std::size_t parent = (slot - 1) / 2;
    if (deadlines_[parent]->deadline <= request->deadline) break;
    heap_place(slot, deadlines_[parent]);
    slot = parent;
  }
  heap_place(slot, request);
}

void BatchQueue::heap_down(std::size_t slot) noexcept {
  BatchRequest* request = deadlines_[slot];
  for (std::size_t child; (child = 2 * slot + 1) < deadlines_.size(); slot = child) {
    if (child + 1 < deadlines_.size() &&
        deadlines_[child + 1]->deadline < deadlines_[child]->deadline)
      ++child;
    if (request->deadline <= deadlines_[child]->deadline) break;
    heap_place(slot, deadlines_[child]);
  }
  heap_place(slot, request);
}

void BatchQueue::heap_remove(BatchRequest& request) noexcept {
  const std::size_t slot = request.deadline_slot;
  BatchRequest* last = deadlines_.back();
  deadlines_.pop_back();
  if (last == &request) return;
  heap_place(slot, last);
  heap_up(slot);
  heap_down(last->deadline_slot);
}

}  // namespace vcap::detail
