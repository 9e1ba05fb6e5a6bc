// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "vcap/batching/batch_core.hpp"

namespace vcap::detail {

/// The waiting chunks of one stream in one group at one priority.
struct BatchLane {
  BatchGroup* group = nullptr;
  std::uint64_t stream = 0;
  std::uint8_t level = 0;
  BatchChunk* front = nullptr;
  BatchChunk* back = nullptr;
  BatchLane* next_turn = nullptr;  // the lanes of a priority that have chunks, a ring
  BatchLane* previous_turn = nullptr;
  BatchLane* next_in_bucket = nullptr;  // or in the list of free lanes
};

/// The waiting items of one key: those that may share a batch.
struct VCAP_EXPORT BatchGroup {
  using time_point = BatchChunk::time_point;
  struct Level {
    BatchChunk* oldest = nullptr;
    BatchChunk* newest = nullptr;
    BatchLane* turn = nullptr;
  };

  /// When the chunk that waits longest came. Not empty.
  time_point oldest_arrival() const noexcept;

  std::uint64_t key = 0;
  std::size_t size = 0;  // items
  std::array<Level, 3> levels{};
  std::size_t place = 0;  // among the queue's groups
};

/// The waiting items, and the order in which they go: by priority, with aging; within a priority
/// each stream in turn, an item each; within a stream first come, first served.
///
/// Chunks are linked, not owned. Every operation is O(1) in items, chunks, streams, and O(log n) in
/// those that have a deadline; finding a key is O(keys that wait). Allocates only where more
/// streams, keys or deadlines wait than ever before. Thread safety: thread-compatible.
class VCAP_EXPORT BatchQueue {
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
  /// How a group stands against others: by priority, and among equals by its longest wait.
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

  /// Queues the next `count` items of the chunk, within its limit; more than none. Its key, stream,
  /// level and deadline are set; `now` does not go backwards, and becomes its arrival unless some
  /// of it still waits. Where it throws (no memory) the queue is as before.
  void push(BatchChunk& chunk, std::size_t count, time_point now);
  /// Takes out the chunk's first item that waits. Gives its number.
  std::size_t remove_front(BatchChunk& chunk) noexcept;
  /// Takes out all of the chunk that waits.
  void remove(BatchChunk& chunk) noexcept;
  /// Takes the items whose turn it is, 1 to `most`, of one call. The group is not empty.
  Taken take(BatchGroup& group, time_point now, std::size_t most) noexcept;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  /// Those that are not empty, in no order. Until the next change.
  std::span<BatchGroup* const> groups() const noexcept { return {groups_.data(), active_}; }
  Rank rank(const BatchGroup& group, time_point now) const noexcept;
  /// The longest waiting of the lowest priority that waits; null where none does.
  BatchChunk* first_to_drop() const noexcept;
  /// The one whose deadline comes first; null where none has one.
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
  std::deque<BatchLane> lanes_{};  // addresses stay
  BatchLane* free_lanes_ = nullptr;
  std::size_t lanes_in_use_ = 0;
  std::vector<BatchLane*> buckets_;
  std::vector<BatchChunk*> deadlines_{};  // a heap, the earliest first
};

}  // namespace vcap::detail
