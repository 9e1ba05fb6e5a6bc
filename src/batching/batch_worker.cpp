// SPDX-License-Identifier: Apache-2.0
// The threads of the state machine: the workers and the watch for deadlines.
#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "batching/batch_core_impl.hpp"
#include "batching/batch_errors.hpp"

namespace vcap::detail {
namespace {

/// Whether one more slice fits. A batch ends early if there is no memory for more.
bool has_room(std::vector<BatchSlice>& batch) noexcept {
  if (batch.size() < batch.capacity()) return true;
  try {
    batch.reserve(2 * batch.capacity());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

void BatchCoreImpl::work(BatchRunner& runner, std::vector<BatchSlice>& batch) {
  Finished finished;
  MutexLock lock(mutex_);
  while (gather(finished)) {
    const std::size_t items = take_batch(batch, finished);
    gathering_ = false;
    if (workers_.size() > 1) gather_turn_.notify_one();
    if (items == 0) {
      answer_calls(finished);  // calls whose deadline passed
      continue;
    }

    --idle_workers_;
    if (!queue_.empty() && idle_workers_ == 0) start_worker();
    const std::shared_ptr<BatchObserver> observer = observer_;
    PredictArena& arena = *arena_;
    // unanswered_ still includes this batch's calls, so close() cannot return before the finished
    // calls are answered.
    unanswered_ -= finished.count;
    lock.unlock();
    answer_settled(finished);
    const time_point began = clock_->now();
    const std::size_t observed = observer ? observer->begin(items) : 0;
    arena.run(runner, batch);
    if (observer) observer->end(observed);
    const time_point now = clock_->now();
    lock.lock();
    ++idle_workers_;
    running_.store(running_ - items, std::memory_order_relaxed);
    recorder_.predicted(now - began, items);
    for (BatchSlice& slice : batch) {
      recorder_.count(Count::failed, slice.failures);
      recorder_.count(Count::answered, slice.end - slice.begin - slice.failures);
      settle(*slice.call, slice.end - slice.begin, std::move(slice.error), slice.failed, finished);
    }
    // Before the answers: calls that arrive from now on count as returned, calls already queued do
    // not.
    linger_.completed(finished.count, now, now - began);
  }
}

// Waits until a batch can be taken, then sets gathering_; false: there will be no more batches.
// First answers finished calls, unless a batch is ready: a ready batch is taken at once, because
// answered callers would compete for the lock. So no finished call is unanswered while this waits.
// Requires `mutex_`; temporarily releases it.
bool BatchCoreImpl::gather(Finished& finished) {
  if (gathering_ || queue_.empty() || !next_turn(clock_->now()).group) answer_calls(finished);
  gather_turn_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return !gathering_; });
  gathering_ = true;
  for (;;) {
    if (!queue_.empty()) {
      const Turn turn = next_turn(clock_->now());
      if (turn.group) return true;
      sleep_ = Sleep::for_more;
      sleep_until_ = turn.until;
      work_.wait_until(*clock_, mutex_, turn.until);
    } else if (!closing_) {
      sleep_ = Sleep::for_work;
      work_.wait(mutex_);
    } else {
      gathering_ = false;
      gather_turn_.notify_all();
      return false;
    }
    sleep_ = Sleep::none;
  }
}

// The group of highest rank among those that need not wait for more items. Requires a queued item.
BatchCoreImpl::Turn BatchCoreImpl::next_turn(time_point now) const noexcept {
  const std::span<BatchGroup* const> groups = queue_.groups();
  Turn turn{nullptr, time_point::max()};
  for (BatchGroup* group : groups) {
    if (const std::optional<time_point> until = hold_until(*group, now))
      turn.until = std::min(turn.until, *until);
    else if (!turn.group || queue_.rank(*group, now) > queue_.rank(*turn.group, now))
      turn.group = group;
  }
  return turn;
}

// Until when a batch of this group, which could be taken now, waits for more items; `nullopt`: no
// wait.
std::optional<BatchCoreImpl::time_point> BatchCoreImpl::hold_until(const BatchGroup& group,
                                                                   time_point now) const noexcept {
  if (closing_ || group.size >= goal_ || room() == 0) return {};
  time_point until = linger_.until();
  if (policy_.max_queue_delay.count() > 0)
    until = std::max(until, group.oldest_arrival() + policy_.max_queue_delay);
  if (until <= now) return {};
  const BatchChunk* urgent = queue_.first_to_expire();
  if (urgent && urgent->deadline <= until && urgent->lane->group == &group) return {};
  return until;
}

// Returns the number of items taken; 0 if no item is ready after expired items were removed.
std::size_t BatchCoreImpl::take_batch(std::vector<BatchSlice>& batch, Finished& finished) {
  const time_point now = clock_->now();
  expire(now, finished);
  batch.clear();
  std::size_t taken = 0;
  if (BatchGroup* group = next_turn(now).group) {
    for (const std::size_t size = batch_size(*group); taken < size && has_room(batch);) {
      const BatchQueue::Taken items = queue_.take(*group, now, size - taken);
      recorder_.waited(now - items.arrival, items.end - items.begin);
      taken += items.end - items.begin;
      if (!batch.empty() && batch.back().call == items.call && batch.back().end == items.begin)
        batch.back().end = items.end;
      else
        batch.push_back({items.call, items.begin, items.end});
    }
  }
  running_.store(running_ + taken, std::memory_order_relaxed);
  queue_changed();
  return taken;
}

std::size_t BatchCoreImpl::batch_size(const BatchGroup& group) const noexcept {
  const std::size_t most = std::min(group.size, policy_.max_batch_size);
  std::size_t best = 0;
  for (const std::size_t size : policy_.preferred_sizes)
    if (size <= most) best = std::max(best, size);
  return best > 0 ? best : most;
}

// Deadlines have their own thread, because every worker may be within a long predict.
void BatchCoreImpl::watch() {
  Finished finished;
  MutexLock lock(mutex_);
  while (!finished_) {
    expire(clock_->now(), finished);
    if (finished.first) {
      queue_changed();
      answer_calls(finished);
      continue;
    }
    const BatchChunk* next = queue_.first_to_expire();
    watch_until_ = next ? next->deadline : time_point::max();
    if (next)
      watch_wake_.wait_until(*clock_, mutex_, watch_until_);
    else
      watch_wake_.wait(mutex_);
  }
}

void BatchCoreImpl::expire(time_point now, Finished& finished) noexcept {
  for (BatchChunk* next; (next = queue_.first_to_expire()) && next->deadline <= now;)
    fail_queued(*next, answer_of(deadline_error, queue_.size() - 1, running_), Count::expired,
                finished);
}

}  // namespace vcap::detail
