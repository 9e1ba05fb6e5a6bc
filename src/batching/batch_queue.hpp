// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "vcap/batching/batch_core.hpp"

namespace vcap::detail {

/// The waiting requests of one stream at one priority.
struct BatchLane {
  std::uint64_t stream = 0;
  std::uint8_t level = 0;
  BatchRequest* front = nullptr;
  BatchRequest* back = nullptr;
  BatchLane* next_turn = nullptr;  // the lanes of a priority that have requests, a ring
  BatchLane* previous_turn = nullptr;
  BatchLane* next_in_bucket = nullptr;  // or in the list of free lanes
};

/// The waiting requests, and the order in which they go: by priority, with aging; within a
/// priority each stream in turn; within a stream first come, first served.
///
/// Every operation is O(1), deadlines O(log n), and allocates only where more requests or streams
/// wait than ever before. Requests are linked, not owned. Thread safety: thread-compatible.
class VCAP_EXPORT BatchQueue {
 public:
  using time_point = BatchRequest::time_point;

  explicit BatchQueue(BatchClock::duration priority_aging);
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// The request's stream, level, arrival and deadline are set; arrivals do not go backwards.
  /// Where it throws (no memory) the queue is as before.
  void push(BatchRequest& request);
  void remove(BatchRequest& request) noexcept;

  /// Takes the one whose turn it is; null where none waits.
  BatchRequest* take(time_point now) noexcept;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  /// When the one that waits longest came. Not empty.
  time_point oldest_arrival() const noexcept;
  /// The longest waiting of the lowest priority that waits; null where none does.
  BatchRequest* first_to_drop() const noexcept;
  /// Any one that waits; null where none does.
  BatchRequest* any() const noexcept { return first_to_drop(); }
  /// The one whose deadline comes first; null where none has one.
  BatchRequest* first_to_expire() const noexcept;

 private:
  static constexpr std::size_t kLevels = 3;
  struct Level {
    BatchRequest* oldest = nullptr;
    BatchRequest* newest = nullptr;
    BatchLane* turn = nullptr;
  };

  BatchLane& lane_of(std::uint64_t stream, std::uint8_t level);
  void free_lane(BatchLane& lane) noexcept;
  void grow_buckets();
  std::size_t bucket_of(std::uint64_t stream, std::uint8_t level) const noexcept;
  void heap_up(std::size_t slot) noexcept;
  void heap_down(std::size_t slot) noexcept;
  void heap_place(std::size_t slot, BatchRequest* request) noexcept;
  void heap_remove(BatchRequest& request) noexcept;

  const BatchClock::duration priority_aging_;
  std::size_t size_ = 0;
  std::array<Level, kLevels> levels_{};
  std::deque<BatchLane> lanes_{};  // addresses stay
  BatchLane* free_lanes_ = nullptr;
  std::size_t lanes_in_use_ = 0;
  std::vector<BatchLane*> buckets_;
  std::vector<BatchRequest*> deadlines_{};  // a heap, the earliest first
};

}  // namespace vcap::detail
