// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "vcap/base/export.hpp"

namespace vcap {

/// Work that belongs together and gets its fair share, such as that of one stream.
class VCAP_EXPORT Lane {
 public:
  virtual ~Lane();
  /// Does one piece of what is waiting, or nothing. Must not throw. [frame worker, concurrent]
  virtual void run_one() = 0;

 private:
  friend class WorkPool;
  std::size_t waiting_ = 0;  ///< pieces posted and not yet taken; guarded by the pool
};

/// The frame workers: plain threads that take one piece from each lane in turn.
///
/// A thread is started when work is posted, all others are busy, and the limit allows it; so a
/// pool that is hardly used stays small. Workers may block on a batch's future, which is why
/// there may be more of them than cores. One that does not come back can be replaced. Thread
/// safety: thread-safe.
class VCAP_EXPORT WorkPool {
 public:
  explicit WorkPool(std::size_t limit);
  /// Ends when the workers are done with what they have begun, those apart that were replaced;
  /// what is waiting is not begun.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  /// Has the lane's run_one() called once more.
  void post(std::shared_ptr<Lane> lane);
  /// The same, by a worker that will be back at once and take it up: no other one is woken for it.
  void post_before_return(std::shared_ptr<Lane> lane);
  /// Lets the pool grow up to that many threads; never shrinks it.
  void raise_limit(std::size_t limit);
  std::size_t limit() const;
  std::size_t threads() const;

  /// The worker that calls, as replace() names it; 0 on any other thread.
  static std::uint64_t current() noexcept;
  /// Gives up a worker that is stuck in a piece of work: another thread takes its place, and it
  /// ends when it comes back, be that after the pool's end. Of no effect on one that has ended.
  void replace(std::uint64_t worker);

 private:
  /// Shared with the workers, since those that are stuck may outlive the pool.
  struct Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace vcap
