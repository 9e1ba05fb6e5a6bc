// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "vcap/batching/detail/batch_core.hpp"

namespace vcap::detail {

/// The queued chunks of one stream in one group at one priority.
struct BatchLane {
  BatchGroup* group = nullptr;
  std::uint64_t stream = 0;
  std::uint8_t level = 0;
  BatchChunk* front = nullptr;
  BatchChunk* back = nullptr;
  BatchLane* next_turn = nullptr;  // a ring of the lanes of a priority that have chunks
  BatchLane* previous_turn = nullptr;
  BatchLane* next_in_bucket = nullptr;  // or in the list of free lanes
};

/// The queued items of one key, which may share a batch.
struct BatchGroup {
  using time_point = BatchChunk::time_point;
  struct Level {
    BatchChunk* oldest = nullptr;
    BatchChunk* newest = nullptr;
    BatchLane* turn = nullptr;
  };

  /// The arrival of the chunk that waits longest. Requires that the group is not empty.
  time_point oldest_arrival() const noexcept;

  std::uint64_t key = 0;
  std::size_t size = 0;  // items
  std::array<Level, 3> levels{};
  std::size_t place = 0;  // index among the queue's groups
};

/// The queued items, and their order: by priority, with aging; within a priority the streams take
/// turns, one item each; within a stream first come, first served.
///
/// Chunks are linked, not owned. Every operation is O(1) in items, chunks and streams, and O(log n)
/// in chunks with a deadline; finding a key is O(queued keys). Allocates only if more streams, keys
/// or deadlines are queued than ever before. Thread safety: thread-compatible.
class BatchQueue {
 public:
  using time_point = BatchChunk::time_point;
  static constexpr std::size_t kLevels = 3;

  /// Items [begin, end) of the call.
  struct Taken {
    BatchCall* call;
    std::size_t begin;
    std::size_t end;
    time_point arrival;
  };
  /// Orders groups: by priority, and among equals by the longest wait.
  struct Rank {
    Clock::duration::rep level;
    time_point arrival;
    bool operator>(const Rank& other) const noexcept {
      return level != other.level ? level > other.level : arrival < other.arrival;
    }
  };

  explicit BatchQueue(Clock::duration priority_aging);
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// Queues the next `count` items of the chunk, within its limit; `count` must be above 0. The
  /// chunk's key, stream, level and deadline must be set. `now` must not go backwards; it becomes
  /// the chunk's arrival, unless some of its items are still queued. If this throws (no memory),
  /// the queue is unchanged.
  void push(BatchChunk& chunk, std::size_t count, time_point now);
  /// Removes the chunk's first queued item and returns its index.
  std::size_t remove_front(BatchChunk& chunk) noexcept;
  /// Removes all queued items of the chunk.
  void remove(BatchChunk& chunk) noexcept;
  /// Takes the items whose turn it is, 1 to `most`, of one call. Requires that the group is not
  /// empty.
  Taken take(BatchGroup& group, time_point now, std::size_t most) noexcept;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  /// The groups that are not empty, in no order. Valid until the next change.
  std::span<BatchGroup* const> groups() const noexcept { return {groups_.data(), active_}; }
  Rank rank(const BatchGroup& group, time_point now) const noexcept;
  /// The chunk that waits longest at the lowest queued priority; null if the queue is empty.
  BatchChunk* first_to_drop() const noexcept;
  /// The chunk with the earliest deadline; null if no chunk has a deadline.
  BatchChunk* first_to_expire() const noexcept;

 private:
  std::size_t turn_of(const BatchGroup& group, time_point now) const noexcept;
  Rank rank_of(std::size_t level, const BatchChunk& oldest, time_point now) const noexcept;
  BatchGroup& group_of(std::uint64_t key);
  void free_group(BatchGroup& group) noexcept;
  BatchLane& lane_of(BatchGroup& group, std::uint64_t stream, std::uint8_t level);
  void free_lane(BatchLane& lane) noexcept;
  void grow_buckets();
  std::size_t bucket_of(const BatchGroup& group, std::uint64_t stream,
                        std::uint8_t level) const noexcept;
  void link(BatchChunk& chunk, time_point now);
  void unlink(BatchChunk& chunk) noexcept;
  void heap_up(std::size_t slot) noexcept;
  void heap_down(std::size_t slot) noexcept;
  void heap_place(std::size_t slot, BatchChunk* chunk) noexcept;
  void heap_remove(BatchChunk& chunk) noexcept;

  const Clock::duration priority_aging_;
  std::size_t size_ = 0;  // items
  std::deque<BatchGroup> group_storage_{};
  std::vector<BatchGroup*> groups_{};  // the first active_ hold items, the others are free
  std::size_t active_ = 0;
  std::deque<BatchLane> lanes_{};  // keeps addresses stable
  BatchLane* free_lanes_ = nullptr;
  std::size_t lanes_in_use_ = 0;
  std::vector<BatchLane*> buckets_;
  std::vector<BatchChunk*> deadlines_{};  // a heap, the earliest first
};

}  // namespace vcap::detail
