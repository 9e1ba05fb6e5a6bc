// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace vcap {

/// Work that belongs together, such as that of one stream. Each lane gets a fair share of the
/// workers.
class Lane {
 public:
  virtual ~Lane();
  /// Does one waiting piece of work, or nothing. Must not throw. [frame worker, concurrent]
  virtual void run_one() = 0;

 private:
  friend class WorkPool;
  std::size_t waiting_ = 0;  ///< pieces posted and not yet taken; guarded by the pool
};

/// The frame workers: threads that take one piece of work from each lane in turn.
///
/// A thread is started if work is posted, all others are busy, and the limit allows it; so a pool
/// that is hardly used stays small. Workers may block on a batch's future, so there may be more
/// workers than cores. A worker that does not return can be given up. Thread safety: thread-safe.
class WorkPool {
 public:
  explicit WorkPool(std::size_t limit);
  /// Waits until the workers have ended the pieces that they have begun, except workers that were
  /// given up. Waiting pieces are not begun.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  /// Requests one more call of the lane's run_one().
  void post(std::shared_ptr<Lane> lane);
  /// The same, called by a worker that returns to the pool at once and can take the work itself: no
  /// other worker is woken.
  void post_before_return(std::shared_ptr<Lane> lane);
  /// Raises the limit to that many threads; never lowers it.
  void raise_limit(std::size_t limit);
  std::size_t limit() const;
  std::size_t threads() const;

  /// The number of the calling worker, for give_up(); 0 on any other thread.
  static std::uint64_t current() noexcept;
  /// Gives up a worker that is stuck in a piece of work: with the next work that is posted, another
  /// thread may take its place. The stuck worker ends when it returns, which may be after the
  /// pool's end. No effect on a worker that has ended.
  void give_up(std::uint64_t worker);

 private:
  /// Shared with the workers: stuck workers may outlive the pool.
  struct Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace vcap
