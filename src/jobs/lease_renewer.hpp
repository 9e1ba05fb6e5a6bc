// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <thread>

#include "base/thread_annotations.hpp"
#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"
#include "vcap/jobs/task_queue.hpp"

namespace vcap {

/// Renews the leases of active workers, at the latest a third of their duration after they were
/// taken or renewed. Borrows the queue and the clock. Thread safety: thread-safe.
class VCAP_EXPORT LeaseRenewer {
 public:
  /// Keeps one lease renewed for as long as the object lives. Thread-compatible.
  class Hold {
   public:
    Hold(LeaseRenewer& renewer, const TaskQueue::Lease& lease);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    LeaseRenewer& renewer_;
    std::list<TaskQueue::Lease>::iterator place_;
  };

  /// `time`: the duration for which leases are taken and renewed.
  LeaseRenewer(TaskQueue& queue, Clock& clock, Clock::duration time);
  ~LeaseRenewer();
  LeaseRenewer(const LeaseRenewer&) = delete;
  LeaseRenewer& operator=(const LeaseRenewer&) = delete;

 private:
  void run() VCAP_EXCLUDES(mutex_);
  void renew_all() VCAP_REQUIRES(mutex_);

  TaskQueue& queue_;
  Clock& clock_;
  const Clock::duration time_;
  Mutex mutex_;
  CondVar changed_;
  std::list<TaskQueue::Lease> held_ VCAP_GUARDED_BY(mutex_);
  /// When all leases are renewed, if there are any.
  Clock::time_point next_ VCAP_GUARDED_BY(mutex_){};
  bool ending_ VCAP_GUARDED_BY(mutex_) = false;
  std::thread thread_;  ///< last member: it uses the others
};

}  // namespace vcap
