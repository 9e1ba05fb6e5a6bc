// SPDX-License-Identifier: Apache-2.0
// The threads of the state machine: the workers and the watch over deadlines.
#include <algorithm>
#include <utility>

#include "batching/batch_core_impl.hpp"
#include "batching/batch_errors.hpp"

namespace vcap::detail {

void BatchCoreImpl::work(BatchRunner& runner) {
  std::vector<BatchRequest*> batch;
  Finished finished;
  Lock lock(mutex_);
  while (gather(lock)) {
    take_batch(batch, finished);
    gathering_ = false;
    if (workers_.size() > 1) gather_turn_.notify_one();
    tell(lock, finished);  // those whose deadline passed
    if (batch.empty()) continue;

    --idle_workers_;
    if (!queue_.empty() && idle_workers_ == 0) {
      try {
        start_worker();
      } catch (...) {  // then those that there are do all the work
      }
    }
    lock.unlock();
    const time_point began = clock_->now();
    arena_->run(runner, batch);
    lock.lock();
    ++idle_workers_;

    for (BatchRequest* request : batch) count_off(*request, finished);
    running_ -= batch.size();
    queue_changed();
    // Before the answers: who comes back is counted from here, who is queued already is not.
    const time_point now = clock_->now();
    linger_.completed(finished.count, now, now - began);
    tell(lock, finished);
  }
}

// Waits until a batch is to be taken; false: there will be none. On true, gathering_ is set.
bool BatchCoreImpl::gather(Lock& lock) {
  gather_turn_.wait(lock, [this] { return !gathering_; });
  gathering_ = true;
  for (;;) {
    if (!queue_.empty()) {
      const std::optional<time_point> until = hold_until(clock_->now());
      if (!until) return true;
      sleep_ = Sleep::for_more;
      sleep_until_ = *until;
      clock_->wait_until(work_, lock, *until);
    } else if (!closing_) {
      sleep_ = Sleep::for_work;
      work_.wait(lock);
    } else {
      gathering_ = false;
      gather_turn_.notify_all();
      return false;
    }
    sleep_ = Sleep::none;
  }
}

// Until when a batch that could be taken now waits for more; nothing: no longer. Some request is
// queued.
std::optional<BatchCoreImpl::time_point> BatchCoreImpl::hold_until(time_point now) const noexcept {
  if (closing_ || queue_.size() >= goal_ || full()) return {};
  time_point until = linger_.until();
  if (policy_.max_queue_delay.count() > 0)
    until = std::max(until, queue_.oldest_arrival() + policy_.max_queue_delay);
  if (until <= now) return {};
  const BatchRequest* urgent = queue_.first_to_expire();
  if (urgent && urgent->deadline <= until) return {};
  return until;
}

void BatchCoreImpl::take_batch(std::vector<BatchRequest*>& batch, Finished& finished) {
  const time_point now = clock_->now();
  expire(now, finished);
  batch.clear();
  for (std::size_t size = batch_size(); batch.size() < size;) batch.push_back(queue_.take(now));
  running_ += batch.size();
  queue_changed();
}

std::size_t BatchCoreImpl::batch_size() const noexcept {
  const std::size_t most = std::min(queue_.size(), policy_.max_batch_size);
  std::size_t best = 0;
  for (const std::size_t size : policy_.preferred_sizes)
    if (size <= most) best = std::max(best, size);
  return best > 0 ? best : most;
}

// Deadlines have a thread of their own, since every worker may be within a long predict.
void BatchCoreImpl::watch() {
  Finished finished;
  Lock lock(mutex_);
  while (!finished_) {
    expire(clock_->now(), finished);
    if (finished.first) {
      queue_changed();
      tell(lock, finished);
      continue;
    }
    const BatchRequest* next = queue_.first_to_expire();
    watch_until_ = next ? next->deadline : time_point::max();
    if (next)
      clock_->wait_until(watch_wake_, lock, watch_until_);
    else
      watch_wake_.wait(lock);
  }
}

void BatchCoreImpl::expire(time_point now, Finished& finished) {
  for (BatchRequest* next; (next = queue_.first_to_expire()) && next->deadline <= now;)
    fail_queued(*next, std::make_exception_ptr(deadline_error(queue_.size() - 1, running_)),
                finished);
}

}  // namespace vcap::detail
