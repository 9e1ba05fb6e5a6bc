// SPDX-License-Identifier: Apache-2.0
// The threads of the state machine: the workers and the watch for deadlines.
#include <algorithm>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "batching/batch_core_impl.hpp"
#include "batching/batch_errors.hpp"
#include "batching/thread_time.hpp"

namespace vcap::detail {
namespace {

// Only batches after one that took so long are measured for whether predict computes. Two system
// calls are little beside that, but much beside a batch of a few microseconds.
constexpr std::chrono::microseconds kLongPredict(50);

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

void BatchCoreImpl::work() {
  Finished finished;
  Clock::duration took{0};  // predict, for the batch before
  MutexLock lock(mutex_);
  while (gather()) {
    TakenSeat seat = take_seat();
    const std::size_t items = take_next(seat->batch, finished);
    if (items == 0) {  // the deadlines of all passed
      give_back(std::move(seat), clock_->now());
      answer_calls(finished);
      continue;
    }
    std::shared_ptr<BatchObserver> observer = observer_;
    PredictArena& arena = *arena_;
    // unanswered_ still includes this batch's calls, so close() cannot return before the finished
    // calls are answered.
    unanswered_ -= finished.count;
    lock.unlock();
    answer_settled(finished);
    const bool measures = took >= kLongPredict;
    const Clock::duration before = measures ? thread_time() : Clock::duration(0);
    const Ran ran = run_batch(arena, *seat, items, observer.get());
    took = ran.took();
    const bool computes = !measures || 2 * (thread_time() - before) >= took;
    observer.reset();  // without the lock, because this may call code of the host
    lock.lock();
    ++idle_workers_;
    settle_batch(seat->batch, items, took, finished);
    // Before the answers: calls that arrive from now on count as returned, calls already queued do
    // not.
    linger_.completed(finished.count, ran.ended, took);
    give_back(std::move(seat), ran.ended);
    // A full batch that is ready is taken before the answers if predict keeps this thread's
    // processor busy: each thread that is woken could take the processor, and answered callers
    // compete for the lock. In all other cases they are answered first, so that their next requests
    // still join the batch, and nobody waits for the second of two wake-ups.
    if (!computes || !is_full_batch_ready(ran.ended)) answer_calls(finished);
  }
}

// Takes the next batch, and ends the turn to gather. Returns the number of items; 0 if no item is
// ready after expired items were removed.
std::size_t BatchCoreImpl::take_next(std::vector<BatchSlice>& batch, Finished& finished) noexcept {
  const time_point now = clock_->now();
  expire(now, finished);
  BatchGroup* const group = queue_.empty() ? nullptr : next_turn(now).group;
  const std::size_t items = group ? take_batch(*group, batch, now) : 0;
  gathering_ = false;
  if (workers_.size() > 1) gather_turn_.notify_one();
  if (items > 0) {
    --idle_workers_;
    share_rest(now);
  }
  return items;
}

// Whether gather() would return at once, with a batch that no further request could join.
bool BatchCoreImpl::is_full_batch_ready(time_point now) const noexcept {
  if (gathering_ || queue_.empty() || free_seats_.empty()) return false;
  const BatchGroup* const group = next_turn(now).group;
  return group && group->size >= goal_;
}

// Waits until a batch can be taken and a seat is free, then sets gathering_; false: there will be
// no more batches. No finished call may be unanswered while this waits. Requires `mutex_`;
// temporarily releases it.
bool BatchCoreImpl::gather() {
  gather_turn_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return !gathering_; });
  gathering_ = true;
  for (;;) {
    if (!queue_.empty() && !free_seats_.empty()) {
      const Turn turn = next_turn(clock_->now());
      if (turn.group) return true;
      sleep_ = Sleep::for_more;
      sleep_until_ = turn.until;
      work_.wait_until(*clock_, mutex_, turn.until);
    } else if (!queue_.empty() || !closing_) {
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

// Takes the group's next batch, of at least one item; returns the number of items.
std::size_t BatchCoreImpl::take_batch(BatchGroup& group, std::vector<BatchSlice>& batch,
                                      time_point now) noexcept {
  batch.clear();
  std::size_t taken = 0;
  for (const std::size_t size = batch_size(group); taken < size && has_room(batch);) {
    const BatchQueue::Taken items = queue_.take(group, now, size - taken);
    recorder_.waited(now - items.arrival, items.end - items.begin);
    taken += items.end - items.begin;
    if (!batch.empty() && batch.back().call == items.call && batch.back().end == items.begin)
      batch.back().end = items.end;
    else
      batch.push_back({items.call, items.begin, items.end});
  }
  running_.store(running_ + taken, std::memory_order_relaxed);
  queue_changed();
  return taken;
}

// Counts a predicted batch, and settles its items with their calls.
void BatchCoreImpl::settle_batch(std::vector<BatchSlice>& batch, std::size_t items,
                                 Clock::duration took, Finished& finished) noexcept {
  running_.store(running_ - items, std::memory_order_relaxed);
  recorder_.predicted(took, items);
  for (BatchSlice& slice : batch) {
    recorder_.count(Count::failed, slice.failures);
    recorder_.count(Count::answered, slice.end - slice.begin - slice.failures);
    settle(*slice.call, slice.end - slice.begin, std::move(slice.error), slice.failed, finished);
  }
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
  const std::size_t before = queue_.size();
  for (BatchChunk* next; (next = queue_.first_to_expire()) && next->deadline <= now;)
    fail_queued(*next, answer_of(deadline_error, queue_.size() - 1, running_), Count::expired,
                finished);
  if (queue_.size() != before) queue_changed();
}

}  // namespace vcap::detail
