// SPDX-License-Identifier: Apache-2.0
// Leaders: senders that predict batches themselves. docs/adr/0020-callers-predict.md has the
// reasons.
#include <memory>
#include <utility>
#include <vector>

#include "batching/batch_core_impl.hpp"
#include "batching/batch_stream_hash.hpp"

namespace vcap::detail {
namespace {

constexpr std::size_t kSliceRoom = 64;  // initial capacity of a batch, in slices

/// Predict runs as in a thread of the executor: for no stream, and with no observer of its own
/// requests.
struct ForNoCall {
  BatchStreamHashScope stream{0};
  NoBatchObserver observer{};
};

}  // namespace

// Whether the sender can predict this call, which is not queued yet, if nothing holds it back. Then
// it needs no worker. Call it after provide_seat().
bool BatchCoreImpl::may_lead(const BatchCall& call) const noexcept {
  return policy_.callers_predict && call.parking_ && queue_.empty() && call.size_ <= room() &&
         !free_seats_.empty();
}

// Predicts the batches that are ready and contain items of this queued call, in its sender's
// thread, until the call is answered or workers must do the rest. While call.leads_ is set, nobody
// else answers the call; so it keeps the executor alive. Requires `mutex_`; temporarily releases
// it.
void BatchCoreImpl::lead(BatchCall& call, time_point now) noexcept {
  // Without items, the call has been answered. Without a seat, it was sent with its threads.
  if (call.pending_ == 0 || free_seats_.empty()) return wake_worker(now);
  Finished finished;  // calls of others
  TakenSeat seat = take_seat();
  call.leads_ = true;
  while (call.pending_ > 0) {
    expire(now, finished);
    if (finished.first) {
      answer_calls(finished);
      now = clock_->now();
      continue;
    }
    BatchGroup* const group = group_to_lead(call, now);
    if (!group) break;
    now = predict_in_place(call, *group, *seat, now, finished);
    if (call.pending_ > 0) answer_calls(finished);
  }
  const bool done = call.pending_ == 0;
  call.leads_ = done;
  give_back(std::move(seat), now);  // before the answers: the next batch may be ready
  answer_calls(finished);
  if (!done) return;
  call.open_.store(1, std::memory_order_relaxed);
  --unanswered_;
  if (closing_ && unanswered_ == 0) all_answered_.notify_all();
}

// The group whose batch the call's sender predicts next; null: the call has no queued items, or
// workers predict them. The batch must be ready, its turn must have come, and it must be certain to
// contain items of the call.
BatchGroup* BatchCoreImpl::group_to_lead(const BatchCall& call, time_point now) noexcept {
  BatchGroup* const next = queue_.empty() ? nullptr : next_turn(now).group;
  BatchGroup* first = nullptr;
  std::size_t own = 0;  // items of the call in the next group
  for (const BatchChunk* chunk = call.first_; chunk; chunk = chunk->next_of_call) {
    if (!chunk->queued()) continue;
    BatchGroup* const group = chunk->lane->group;
    if (!first) first = group;
    if (group == next) own += chunk->end - chunk->next;
  }
  if (own > 0 && (own == next->size || next->size <= batch_size(*next))) return next;
  return first && !get_help(call) ? first : nullptr;
}

// Makes sure that workers answer the call. False: there is no worker, and none can be started; then
// the sender does not wait for a better batch.
bool BatchCoreImpl::get_help(const BatchCall& call) noexcept {
  watch_queued(call);
  try {
    if (idle_workers_ == 0) start_worker();
    return true;
  } catch (...) {
    return false;
  }
}

// If the watch cannot be started, deadlines are noticed when a batch is taken.
void BatchCoreImpl::watch_queued(const BatchCall& call) noexcept {
  try {
    for (const BatchChunk* chunk = call.first_; chunk; chunk = chunk->next_of_call)
      if (chunk->queued() && chunk->deadline != time_point::max()) watch_for(chunk->deadline);
  } catch (...) {  // no thread
  }
}

// Predicts the group's next batch on the calling thread, and gives the time when it ended. Requires
// `mutex_`; temporarily releases it.
BatchCoreImpl::time_point BatchCoreImpl::predict_in_place(const BatchCall& call, BatchGroup& group,
                                                          Seat& seat, time_point now,
                                                          Finished& finished) noexcept {
  const std::size_t items = take_batch(group, seat.batch, now);
  watch_queued(call);
  share_rest(now);
  std::shared_ptr<BatchObserver> observer = observer_;
  PredictArena& arena = *arena_;
  Ran ran;
  {
    const MutexUnlock released(mutex_);
    const ForNoCall scopes;
    ran = run_batch(arena, seat, items, observer.get());
    observer.reset();  // without the lock, because this may call code of the host
  }
  settle_batch(seat.batch, items, ran.took(), finished);
  linger_.completed(finished.count + (call.pending_ == 0 ? 1 : 0), ran.ended, ran.took());
  return ran.ended;
}

// Makes one more seat if all are taken and the policy allows it. If this fails, those who have one
// do all the work; if nobody has, the caller gets the error.
void BatchCoreImpl::provide_seat() {
  if (!free_seats_.empty() || seats_ == policy_.workers) return;
  try {
    if (!arena_)
      arena_ = std::make_unique<PredictArena>(number_, policy_.workers, policy_.concurrency);
    free_seats_.reserve(seats_ + 1);
    auto seat = std::make_unique<Seat>();
    seat->runner = make_runner_();
    seat->batch.reserve(kSliceRoom);
    free_seats_.push_back(std::move(seat));
    ++seats_;
  } catch (...) {
    if (seats_ == 0) throw;
  }
}

BatchCoreImpl::TakenSeat BatchCoreImpl::take_seat() noexcept {
  TakenSeat seat = std::move(free_seats_.back());
  free_seats_.pop_back();
  return seat;
}

void BatchCoreImpl::give_back(TakenSeat seat, time_point now) noexcept {
  free_seats_.push_back(std::move(seat));  // there is room for all seats
  wake_worker(now);
}

// Lets another worker take what is still queued, if the policy allows one more batch at a time.
// Requires a worker, or that all queued items are of calls whose senders lead.
void BatchCoreImpl::share_rest(time_point now) noexcept {
  if (queue_.empty()) return;
  try {
    provide_seat();
    if (free_seats_.empty()) return;
    if (idle_workers_ == 0) start_worker();
  } catch (...) {  // no worker can be started: those who lead predict it
  }
  wake_worker(now);
}

// Runs a batch on the calling thread, in the arena.
BatchCoreImpl::Ran BatchCoreImpl::run_batch(PredictArena& arena, Seat& seat, std::size_t items,
                                            BatchObserver* observer) const noexcept {
  const time_point began = clock_->now();
  const std::size_t observed = observer ? observer->begin(items) : 0;
  arena.run(*seat.runner, seat.batch);
  if (observer) observer->end(observed);
  return {began, clock_->now()};
}

}  // namespace vcap::detail
