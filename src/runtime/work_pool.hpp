// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

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
/// there may be more of them than cores. Thread safety: thread-safe.
class VCAP_EXPORT WorkPool {
 public:
  explicit WorkPool(std::size_t limit);
  /// Ends when the workers are done with what they have begun; what is waiting is not begun.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  /// Has the lane's run_one() called once more.
  void post(std::shared_ptr<Lane> lane);
  /// Lets the pool grow up to that many threads; never shrinks it.
  void raise_limit(std::size_t limit);
  std::size_t limit() const;
  std::size_t threads() const;

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Lane>> ready_;  ///< lanes with waiting work, each once
  std::size_t waiting_ = 0;                  ///< pieces in all lanes
  std::size_t idle_ = 0;                     ///< threads that wait for work or are being started
  std::size_t limit_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace vcap
