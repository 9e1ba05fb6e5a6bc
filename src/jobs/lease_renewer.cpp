// SPDX-License-Identifier: Apache-2.0
#include "jobs/lease_renewer.hpp"

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

LeaseRenewer::Hold::Hold(LeaseRenewer& renewer, const TaskQueue::Lease& lease) : renewer_(renewer) {
  const MutexLock lock(renewer_.mutex_);
  if (renewer_.held_.empty()) renewer_.next_ = renewer_.clock_.now() + renewer_.time_ / 3;
  place_ = renewer_.held_.insert(renewer_.held_.end(), lease);
  renewer_.changed_.notify_all();
}

LeaseRenewer::Hold::~Hold() {
  const MutexLock lock(renewer_.mutex_);
  renewer_.held_.erase(place_);
}

LeaseRenewer::LeaseRenewer(TaskQueue& queue, Clock& clock, Clock::duration time)
    : queue_(queue), clock_(clock), time_(time), thread_([this] { run(); }) {}

LeaseRenewer::~LeaseRenewer() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void LeaseRenewer::run() {
  MutexLock lock(mutex_);
  while (!ending_) {
    if (held_.empty())
      changed_.wait(mutex_);
    else if (clock_.now() < next_)
      changed_.wait_until(clock_, mutex_, next_);
    else
      renew_all();
  }
}

/// Temporarily releases the lock: the queue may be the host's, and so is the log hook. To renew a
/// lease that is no longer valid, or no longer held, does no harm: the first worker to complete the
/// task counts.
void LeaseRenewer::renew_all() {
  next_ = clock_.now() + time_ / 3;
  const std::list<TaskQueue::Lease> leases = held_;
  const MutexUnlock released(mutex_);
  for (const TaskQueue::Lease& lease : leases) {
    try {
      queue_.renew(lease, time_);
    } catch (const Error& error) {
      log(LogLevel::warning, "the lease of task " + quote(lease.task) +
                                 " cannot be renewed, and is tried again: " + error.what());
    }
  }
}

}  // namespace vcap
