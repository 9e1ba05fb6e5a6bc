// SPDX-License-Identifier: Apache-2.0
// The senders' side of the state machine, its answers and its end. The rest is in batch_leader.cpp
// and batch_worker.cpp.
#include "batching/batch_core_impl.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/steady_clock.hpp"
#include "batching/batch_errors.hpp"
#include "vcap/batching/batch_stream_scope.hpp"

namespace vcap::detail {
namespace {

BatchPolicy validated(BatchPolicy policy) {
  validate(policy);
  return policy;
}

BatchRunnerFactory given(BatchRunnerFactory make_runner) {
  if (make_runner) return make_runner;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "batch executor: predict is empty; give it a function");
}

// If larger, a large batch needs fewer wake-ups. But all threads at a spot are woken when one of
// them is answered, in vain if batches are smaller.
constexpr std::uint64_t kItemsOfASpot = 8;

// Names the calling thread and makes its timers exact: by default, the kernel may delay a timeout
// by 50 µs to group wake-ups.
void prepare_thread(const char* name) noexcept {
  pthread_setname_np(pthread_self(), name);
  prctl(PR_SET_TIMERSLACK, 1ul);
}

std::size_t goal_of(const BatchPolicy& policy) {
  const auto& sizes = policy.preferred_sizes;
  return sizes.empty() ? policy.max_batch_size : *std::max_element(sizes.begin(), sizes.end());
}

}  // namespace

BatchCoreImpl::BatchCoreImpl(BatchRunnerFactory make_runner, BatchPolicy policy)
    : policy_(validated(std::move(policy))),
      clock_(policy_.clock ? policy_.clock : std::make_shared<SteadyClock>()),
      make_runner_(given(std::move(make_runner))),
      goal_(goal_of(policy_)),
      queue_(policy_.priority_aging),
      linger_(policy_.adaptive_linger, policy_.linger_share),
      recorder_(policy_.statistics) {}

BatchCoreImpl::~BatchCoreImpl() {
  close(false);
  MutexLock lock(mutex_);
  all_answered_.wait(mutex_,
                     [this]() VCAP_REQUIRES(mutex_) { return blocked_ == 0 && guests_ == 0; });
}

// Notifies the worker, or leads, under the lock: once the lock is free, the call may be answered
// and the executor destroyed. Until answer_calls() returns, the finished calls keep the executor
// alive.
void BatchCoreImpl::send(BatchCall& call, const RequestOptions& options, bool only_if_room) {
  prepare(call, options);
  const bool waits = call.parking_ != nullptr;  // else the call may be destroyed once it is queued
  time_point now = clock_->now();
  std::shared_ptr<BatchObserver> replaced;  // ends without the lock: it may close a trace
  const MutexLock lock(mutex_);
  if (closing_) throw closed_error();
  if ((only_if_room || policy_.overflow == QueueOverflowPolicy::reject) && call.size_ > room()) {
    recorder_.count_rejected(call.size_);
    throw queue_full_error(policy_.max_queue_size, call.size_);
  }
  if (const auto& current = BatchObserverScope::current(); current != observer_)
    replaced = std::exchange(observer_, current);
  Finished finished;
  std::exception_ptr why;
  try {
    admit(call, now, finished);
  } catch (...) {
    why = std::current_exception();
  }
  answer_calls(finished);
  if (waits && !why && policy_.callers_predict)
    lead(call, now);
  else
    wake_worker(now);
  if (why) std::rethrow_exception(why);
}

void BatchCoreImpl::set_batch_sizes(const BatchSizes& sizes) {
  BatchPolicy changed = policy_;
  changed.max_batch_size = sizes.maximum;
  changed.preferred_sizes.clear();
  // The maximum counts as preferred too: a queue that fills the largest batch is not cut to the
  // preferred size.
  if (sizes.preferred > 0) changed.preferred_sizes = {sizes.preferred, sizes.maximum};
  validate(changed);
  const MutexLock lock(mutex_);
  policy_ = std::move(changed);
  goal_ = goal_of(policy_);
}

bool BatchCoreImpl::has_room_for_one() noexcept {
  if (policy_.max_queue_size == 0 ||
      queued_.load(std::memory_order_relaxed) < policy_.max_queue_size)
    return true;
  recorder_.count_rejected();
  return false;
}

void BatchCoreImpl::send_and_wait(BatchCall& call, const RequestOptions& options) {
  // Calls that arrive one after the other are likely to share a batch.
  const std::uint64_t group =
      parked_.fetch_add(call.size_, std::memory_order_relaxed) / kItemsOfASpot;
  ParkingLot& parking = ParkingLot::spot(number_, group);
  call.parking_ = &parking;
  if (!options.cancellation.stop_possible()) {
    send(call, options, false);
    parking.wait(call.open_);
    return;
  }
  // An answered call touches only its own stack, so the executor may be destroyed while its last
  // callers return. The exception is a call that a stop token can still reach; it counts as a
  // guest.
  struct Guest {
    Guest(BatchCoreImpl& to, BatchCall& by) : core(to), call(by) {
      const MutexLock lock(core.mutex_);
      ++core.guests_;
    }
    ~Guest() {
      call.on_stop_.reset();
      const MutexLock lock(core.mutex_);
      --core.guests_;
      core.all_answered_.notify_all();
    }
    BatchCoreImpl& core;
    BatchCall& call;
  } const guest(*this, call);
  send(call, options, false);
  parking.wait(call.open_);
}

void BatchCoreImpl::prepare(BatchCall& call, const RequestOptions& options) {
  if (PredictArena::is_inside(number_)) throw reentrant_error();
  if (options.priority > RequestPriority::high)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "RequestOptions::priority: " + std::to_string(static_cast<int>(options.priority)) +
            " is not low (0), normal (1) or high (2)");
  const std::uint64_t stream = BatchStreamScope::current();
  for (BatchChunk* chunk = call.first_; chunk; chunk = chunk->next_of_call) {
    chunk->stream = stream;
    chunk->level = static_cast<std::uint8_t>(options.priority);
    chunk->deadline = options.deadline.value_or(time_point::max());
  }
  call.pending_ = call.size_;
  // Before the call is queued: after that, it may be answered and destroyed at any moment.
  if (options.cancellation.stop_possible())
    call.on_stop_.emplace(options.cancellation, BatchCall::Cancel{this, &call});
}

// Queues the call's items. If an item gets no room, it and all items after it fail. An exception
// before the first item is queued goes to the sender, and the call is not accepted. Requires
// `mutex_`; temporarily releases it.
void BatchCoreImpl::admit(BatchCall& call, time_point& now, Finished& finished) {
  Refusal refusal;
  provide_seat();
  const bool needs_threads = !may_lead(call);
  for (BatchChunk* chunk = call.first_; chunk; chunk = chunk->next_of_call) {
    try {
      while (!refusal.why && chunk->end < chunk->limit) {
        refusal = make_room(*chunk, now, finished);
        if (refusal.why) break;
        if (needs_threads) start_threads_for(*chunk);
        queue_.push(*chunk, std::min(room(), chunk->limit - chunk->end), now);
        accept(call, now);
      }
    } catch (const BatchError& error) {
      if (!call.accepted_) throw;
      refusal = {std::current_exception(),
                 error.code() == ErrorCode::closed ? Count::closed : Count::dropped};
    } catch (...) {  // no memory, no thread
      if (!call.accepted_) throw;
      refusal = {std::current_exception(), Count::failed};
    }
    if (chunk->end == chunk->limit) continue;
    accept(call, now);
    fail(call, chunk->end, chunk->limit, refusal.why, refusal.as, finished);
  }
  queue_changed();
}

void BatchCoreImpl::accept(BatchCall& call, time_point now) noexcept {
  if (std::exchange(call.accepted_, true)) return;
  ++unanswered_;
  recorder_.count(Count::accepted, call.size_);
  linger_.arrived(now);
}

std::size_t BatchCoreImpl::room() const noexcept {
  return policy_.max_queue_size == 0 ? std::numeric_limits<std::size_t>::max()
                                     : policy_.max_queue_size - queue_.size();
}

// Returns if there is room for an item, or returns the reason why the item fails. Throws if the
// sender must get the error instead. Requires `mutex_`; temporarily releases it.
BatchCoreImpl::Refusal BatchCoreImpl::make_room(const BatchChunk& chunk, time_point& now,
                                                Finished& finished) {
  for (;;) {
    if (closing_) throw closed_error();
    if (chunk.call->cancelled_) return {answer_of(cancelled_error), Count::cancelled};
    if (chunk.deadline <= now)
      return {answer_of(deadline_error, queue_.size(), running_), Count::expired};
    if (room() > 0) return {};
    if (policy_.overflow == QueueOverflowPolicy::drop_oldest) {
      BatchChunk& oldest = *queue_.first_to_drop();
      if (oldest.level > chunk.level) {
        if (!chunk.call->accepted_) recorder_.count_rejected(chunk.call->size_);
        throw queue_full_error(policy_.max_queue_size, 1);
      }
      const std::size_t item = queue_.remove_front(oldest);
      fail(*oldest.call, item, item + 1, answer_of(dropped_error, policy_.max_queue_size),
           Count::dropped, finished);
      continue;
    }
    // The worker may be waiting for the items that this call has queued so far.
    queue_changed();
    wake_worker(now);
    ++blocked_;
    if (chunk.deadline == time_point::max())
      room_.wait(mutex_);
    else
      room_.wait_until(*clock_, mutex_, chunk.deadline);
    if (--blocked_ == 0 && closing_) all_answered_.notify_all();
    now = clock_->now();
  }
}

// Lets the watch look for this deadline; starts the watch first if it does not run.
void BatchCoreImpl::watch_for(time_point deadline) {
  if (!watch_.joinable()) {
    watch_ = std::thread([this] {
      prepare_thread("vcap-deadlines");
      watch();
    });
  }
  if (deadline < watch_until_) watch_wake_.notify_one();
}

// Starts what this chunk needs while it is queued: a worker with a seat if none is free, and the
// watch if it has a deadline.
void BatchCoreImpl::start_threads_for(const BatchChunk& chunk) {
  provide_seat();
  if (idle_workers_ == 0) start_worker();
  if (chunk.deadline != time_point::max()) watch_for(chunk.deadline);
}

// Starts one more worker if the policy allows it. If this fails, the other workers do all the work;
// if there are none, the caller gets the error.
void BatchCoreImpl::start_worker() {
  if (workers_.size() == policy_.workers) return;
  try {
    workers_.reserve(workers_.size() + 1);
    workers_.emplace_back([this] {
      prepare_thread("vcap-batch");
      work();
    });
    ++idle_workers_;
  } catch (...) {
    if (workers_.empty()) throw;
  }
}

// Wakes the gathering worker if it sleeps and has something to do.
void BatchCoreImpl::wake_worker(time_point now) noexcept {
  if (sleep_ == Sleep::none || queue_.empty() || free_seats_.empty()) return;
  if (sleep_ == Sleep::for_more) {
    const Turn turn = next_turn(now);
    if (!turn.group && turn.until >= sleep_until_) return;
  }
  sleep_ = Sleep::none;
  work_.notify_one();
}

void BatchCoreImpl::cancel(BatchCall& call) noexcept {
  MutexLock lock(mutex_);
  call.cancelled_ = true;
  if (blocked_ > 0) room_.notify_all();
  Finished finished;
  for (BatchChunk* chunk = call.first_; chunk; chunk = chunk->next_of_call)
    if (chunk->queued())
      fail_queued(*chunk, answer_of(cancelled_error), Count::cancelled, finished);
  queue_changed();
  answer_calls(finished);
}

void BatchCoreImpl::close(bool cancel_queued) {
  if (PredictArena::is_inside(number_)) throw reentrant_error();
  MutexLock lock(mutex_);
  closing_ = true;
  room_.notify_all();
  work_.notify_all();
  Finished finished;
  if (cancel_queued)
    while (BatchChunk* chunk = queue_.first_to_drop())
      fail_queued(*chunk, answer_of(closed_error), Count::closed, finished);
  queue_changed();
  answer_calls(finished);
  all_answered_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return unanswered_ == 0; });
  finished_ = true;
  watch_wake_.notify_all();
  work_.notify_all();  // a worker that waited for a seat, until others answered all requests
  lock.unlock();

  const MutexLock join(join_mutex_);
  join_threads();
}

// Call it once finished_ is set. Not analysed: it reads workers_ and watch_ without mutex_, which
// the threads need to end. No thread is started any more, so nobody changes these two.
void BatchCoreImpl::join_threads() VCAP_NO_THREAD_SAFETY_ANALYSIS {
  for (std::thread& worker : workers_)
    if (worker.joinable()) worker.join();
  if (watch_.joinable()) watch_.join();
}

void BatchCoreImpl::fail_queued(BatchChunk& chunk, std::exception_ptr why, Count as,
                                Finished& finished) noexcept {
  const std::size_t begin = chunk.next;
  queue_.remove(chunk);
  fail(*chunk.call, begin, chunk.end, std::move(why), as, finished);
}

void BatchCoreImpl::fail(BatchCall& call, std::size_t begin, std::size_t end,
                         std::exception_ptr why, Count as, Finished& finished) noexcept {
  recorder_.count(as, end - begin);
  settle(call, end - begin, std::move(why), begin, finished);
}

void BatchCoreImpl::settle(BatchCall& call, std::size_t items, std::exception_ptr why,
                           std::size_t first_failed, Finished& finished) noexcept {
  call.settle(items, std::move(why), first_failed);
  if (call.pending_ > 0 || call.leads_) return;  // lead() answers its own call
  call.next_finished_ = nullptr;
  (finished.last ? finished.last->next_finished_ : finished.first) = &call;
  finished.last = &call;
  ++finished.count;
}

// Answers finished calls without the lock, then subtracts them from unanswered_. Requires `mutex_`;
// temporarily releases it.
void BatchCoreImpl::answer_calls(Finished& finished) noexcept {
  if (!finished.first) return;
  const std::size_t count = finished.count;
  {
    const MutexUnlock released(mutex_);
    answer(release(finished, [](ParkingLot& parking) { parking.wake_all(); }));
  }
  unanswered_ -= count;
  if (closing_ && unanswered_ == 0) all_answered_.notify_all();
}

// Answers finished calls that are already subtracted from unanswered_; the calling worker still
// holds another batch.
void BatchCoreImpl::answer_settled(Finished& finished) noexcept {
  BatchCall* others = nullptr;
  {
    ParkingLot::Chain chain;
    others = release(finished, [&chain](ParkingLot& parking) { chain.add(parking); });
  }
  answer(others);
}

// Wakes senders that wait in place; returns the other calls.
template <class Wake>
BatchCall* BatchCoreImpl::release(Finished& finished, Wake&& wake) noexcept {
  BatchCall* others = nullptr;
  BatchCall** last = &others;
  ParkingLot* parking = nullptr;
  for (BatchCall* call = finished.first; call;) {
    BatchCall* next = call->next_finished_;
    if (ParkingLot* its = call->parking_) {
      call->open_.store(1, std::memory_order_release);  // the sender may now destroy the call
      if (parking && parking != its) wake(*parking);
      parking = its;
    } else {
      *last = call;
      last = &call->next_finished_;
    }
    call = next;
  }
  *last = nullptr;
  if (parking) wake(*parking);
  finished = {};
  return others;
}

void BatchCoreImpl::answer(BatchCall* calls) noexcept {
  while (calls) std::exchange(calls, calls->next_finished_)->answered();
}

void BatchCoreImpl::queue_changed() noexcept {
  queued_.store(queue_.size(), std::memory_order_relaxed);
  if (blocked_ > 0 && room() > 0) room_.notify_all();
}

BatchStatistics BatchCoreImpl::statistics() const {
  BatchStatistics result = recorder_.read();
  result.queued = queued_.load(std::memory_order_relaxed);
  result.running = running_.load(std::memory_order_relaxed);
  return result;
}

}  // namespace vcap::detail
