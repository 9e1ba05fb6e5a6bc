// SPDX-License-Identifier: Apache-2.0
#include "vcap/jobs/task_queue.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/steady_clock.hpp"
#include "base/thread_annotations.hpp"
#include "jobs/task_checks.hpp"
#include "jobs/task_states.hpp"

namespace vcap {
namespace {

class InProcessQueue final : public TaskQueue {
 public:
  explicit InProcessQueue(Settings settings)
      : clock_(settings.clock ? std::move(settings.clock)
                              : std::make_shared<detail::SteadyClock>()),
        states_(settings.max_attempts) {}

  bool put(std::string id, nlohmann::json payload) override {
    check_task_id(id);
    check_task_payload(id, payload);
    const Change change(*this);
    return states_.put(std::move(id), std::move(payload));
  }

  std::optional<Lease> lease(Clock::duration time, std::stop_token stop) override {
    check_lease_time(time);
    const std::stop_callback wake(stop, [this] { wake_waiters(); });
    const MutexLock lock(mutex_);
    for (states_.end_leases(clock_->now()); !stop.stop_requested(); wait_for_change()) {
      std::optional<Lease> lease = states_.lease(end_of(time));
      if (!lease) continue;
      changed_.notify_all();  // it may run out before the others would wake
      return lease;
    }
    return std::nullopt;
  }

  std::optional<Lease> try_lease(Clock::duration time) override {
    check_lease_time(time);
    const Change change(*this);
    return states_.lease(end_of(time));
  }

  bool renew(const Lease& lease, Clock::duration time) override {
    check_lease_time(time);
    const Change change(*this);
    return states_.renew(lease, end_of(time));
  }

  bool complete(const Lease& lease, nlohmann::json result) override {
    check_task_result(lease.task, result);
    const Change change(*this);
    return states_.complete(lease, std::move(result));
  }

  bool fail(const Lease& lease, std::string reason) override {
    const Change change(*this);
    return states_.fail(lease, std::move(reason));
  }

  bool release(const Lease& lease) override {
    const Change change(*this);
    return states_.release(lease);
  }

  Counts counts() const override {
    const MutexLock lock(mutex_);
    states_.end_leases(clock_->now());
    return states_.counts();
  }

  bool wait_until_settled(std::stop_token stop) const override {
    const std::stop_callback wake(stop, [this] { wake_waiters(); });
    const MutexLock lock(mutex_);
    for (states_.end_leases(clock_->now()); !stop.stop_requested(); wait_for_change())
      if (states_.all_settled()) return true;
    return false;
  }

  std::optional<nlohmann::json> result(const std::string& id) const override {
    const MutexLock lock(mutex_);
    states_.end_leases(clock_->now());
    return states_.result(id);
  }

  std::vector<Failure> failures() const override {
    const MutexLock lock(mutex_);
    states_.end_leases(clock_->now());
    return states_.failures();
  }

 private:
  /// A change of the states, under the lock. Waiters check their condition again after it: a task
  /// may have come in or been settled, or a lease may end before they would wake. Waiters wake by
  /// themselves when a lease runs out, so queries need not notify them.
  class VCAP_SCOPED_CAPABILITY Change {
   public:
    explicit Change(const InProcessQueue& queue) VCAP_ACQUIRE(queue.mutex_)
        : queue_(queue), lock_(queue.mutex_) {
      queue_.states_.end_leases(queue_.clock_->now());
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() VCAP_RELEASE() { queue_.changed_.notify_all(); }

   private:
    const InProcessQueue& queue_;
    const MutexLock lock_;
  };

  Clock::time_point end_of(Clock::duration time) const { return end_of_lease(clock_->now(), time); }

  /// Lets those who wait look whether their stop was requested.
  void wake_waiters() const VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    changed_.notify_all();
  }

  /// Waits for a change, or until a lease runs out; then ends the leases that have run out.
  void wait_for_change() const VCAP_REQUIRES(mutex_) {
    const Clock::time_point end = states_.first_end();
    if (end == Clock::time_point::max())
      changed_.wait(mutex_);
    else
      changed_.wait_until(*clock_, mutex_, end);
    states_.end_leases(clock_->now());
  }

  const std::shared_ptr<Clock> clock_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  mutable TaskStates states_
      VCAP_GUARDED_BY(mutex_);  ///< mutable: queries also end leases that have run out
};

}  // namespace

TaskQueue::~TaskQueue() = default;

std::size_t TaskQueue::put_all(std::vector<NewTask> tasks) {
  std::size_t count = 0;
  for (NewTask& task : tasks) count += put(std::move(task.id), std::move(*task.payload));
  return count;
}

std::unique_ptr<TaskQueue> make_in_process_queue(TaskQueue::Settings settings) {
  check_max_attempts(settings.max_attempts);
  return std::make_unique<InProcessQueue>(std::move(settings));
}

}  // namespace vcap
