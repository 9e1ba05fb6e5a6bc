// SPDX-License-Identifier: Apache-2.0
// The senders' side of the state machine, its answers and its end. batch_worker.cpp has the rest.
#include "batching/batch_core_impl.hpp"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <utility>

#include "batching/batch_errors.hpp"
#include "batching/steady_batch_clock.hpp"
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

std::size_t goal_of(const BatchPolicy& policy) {
  const auto& sizes = policy.preferred_sizes;
  return sizes.empty() ? policy.max_batch_size : *std::max_element(sizes.begin(), sizes.end());
}

}  // namespace

BatchCoreImpl::BatchCoreImpl(BatchRunnerFactory make_runner, BatchPolicy policy)
    : policy_(validated(std::move(policy))),
      clock_(policy_.clock ? policy_.clock : std::make_shared<SteadyBatchClock>()),
      make_runner_(given(std::move(make_runner))),
      goal_(goal_of(policy_)),
      queue_(policy_.priority_aging),
      linger_(policy_.adaptive_linger, policy_.linger_share) {}

BatchCoreImpl::~BatchCoreImpl() {
  close(false);
  Lock lock(mutex_);
  all_answered_.wait(lock, [this] { return blocked_ == 0 && guests_ == 0; });
}

void BatchCoreImpl::send(BatchCall& call, const RequestOptions& options) {
  prepare(call, options);
  Lock lock(mutex_);
  if (enqueue(lock, call)) {
    lock.unlock();
    work_.notify_one();
  }
}

void BatchCoreImpl::send_and_wait(BlockingBatchCall& call, const RequestOptions& options) {
  if (!options.cancellation.stop_possible()) {
    send(call, options);
    call.wait();
    return;
  }
  // Once it has its answer a call touches only its own stack, so that the executor may end while
  // its last callers are on their way out; except for one that a stop token may still send here.
  struct Guest {
    Guest(BatchCoreImpl& to, BatchCall& by) : core(to), call(by) {
      const Lock lock(core.mutex_);
      ++core.guests_;
    }
    ~Guest() {
      call.on_stop_.reset();
      const Lock lock(core.mutex_);
      --core.guests_;
      core.all_answered_.notify_all();
    }
    BatchCoreImpl& core;
    BatchCall& call;
  } const guest(*this, call);
  send(call, options);
  call.wait();
}

void BatchCoreImpl::prepare(BatchCall& call, const RequestOptions& options) {
  if (PredictArena::current() == number_) throw reentrant_error();
  if (options.priority > RequestPriority::high)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "RequestOptions::priority: " + std::to_string(static_cast<int>(options.priority)) +
            " is not low (0), normal (1) or high (2)");
  const std::uint64_t stream = BatchStreamScope::current();
  for (BatchRequest* request = call.first_; request; request = request->next_of_call) {
    request->stream = stream;
    request->level = static_cast<std::uint8_t>(options.priority);
    request->deadline = options.deadline.value_or(time_point::max());
  }
  call.pending_ = call.size_;
  // Before the call is queued: once it is, it may be answered and gone at any moment.
  if (options.cancellation.stop_possible())
    call.on_stop_.emplace(options.cancellation, BatchCall::Cancel{this, &call});
}

// Gives whether the gathering worker is to be notified.
bool BatchCoreImpl::enqueue(Lock& lock, BatchCall& call) {
  if (closing_) throw closed_error();
  if (policy_.max_queue_size > 0 && policy_.when_full == WhenFull::reject &&
      call.size_ > policy_.max_queue_size - queue_.size())
    throw queue_full_error(policy_.max_queue_size, call.size_);

  Finished finished;
  std::exception_ptr why;
  time_point now = clock_->now();
  try {
    admit(lock, call, now, finished);
  } catch (...) {
    why = std::current_exception();
  }
  const bool wake = wake_worker(now);
  tell(lock, finished);
  if (!why) return wake;
  if (wake) work_.notify_one();
  std::rethrow_exception(why);
}

// Queues the call's requests. One that gets no room fails, and those behind it; where it is the
// call's first, and not the call itself is at fault, the call is not accepted and this throws.
void BatchCoreImpl::admit(Lock& lock, BatchCall& call, time_point& now, Finished& finished) {
  std::exception_ptr why;
  for (BatchRequest* request = call.first_; request; request = request->next_of_call) {
    if (!why) {
      try {
        why = make_room(lock, *request, now, finished);
        if (!why) {
          start_threads(*request);
          request->arrival = now;
          queue_.push(*request);
        }
      } catch (...) {
        if (!call.accepted_) throw;
        why = std::current_exception();
      }
      if (!call.accepted_) {
        call.accepted_ = true;
        ++unanswered_;
        linger_.arrived(now);
      }
    }
    if (why) {
      request->fail(why);
      count_off(*request, finished);
    }
  }
  queue_changed();
}

bool BatchCoreImpl::full() const noexcept {
  return policy_.max_queue_size > 0 && queue_.size() >= policy_.max_queue_size;
}

// Gives why the request is not to be queued. Throws where its sender is to know instead.
std::exception_ptr BatchCoreImpl::make_room(Lock& lock, const BatchRequest& request,
                                            time_point& now, Finished& finished) {
  for (;;) {
    if (closing_) throw closed_error();
    if (request.call->cancelled_) return std::make_exception_ptr(cancelled_error());
    if (request.deadline <= now)
      return std::make_exception_ptr(deadline_error(queue_.size(), running_));
    if (!full()) return {};
    if (policy_.when_full == WhenFull::drop_oldest) {
      BatchRequest* oldest = queue_.first_to_drop();
      if (oldest->level > request.level) throw queue_full_error(policy_.max_queue_size, 1);
      fail_queued(*oldest, std::make_exception_ptr(dropped_error(policy_.max_queue_size)),
                  finished);
      continue;
    }
    // What this call has queued so far may be what the worker waits for.
    queue_changed();
    if (wake_worker(now)) work_.notify_one();
    ++blocked_;
    if (request.deadline == time_point::max())
      room_.wait(lock);
    else
      clock_->wait_until(room_, lock, request.deadline);
    if (--blocked_ == 0 && closing_) all_answered_.notify_all();
    now = clock_->now();
  }
}

void BatchCoreImpl::start_threads(const BatchRequest& request) {
  if (idle_workers_ == 0) start_worker();
  if (request.deadline == time_point::max()) return;
  if (!watch_.joinable()) {
    watch_ = std::thread([this] { watch(); });
    pthread_setname_np(watch_.native_handle(), "vcap-deadlines");
  }
  if (request.deadline < watch_until_) watch_wake_.notify_one();
}

// One more, where the policy has one more.
void BatchCoreImpl::start_worker() {
  if (workers_.size() == policy_.workers) return;
  if (!arena_)
    arena_ = std::make_unique<PredictArena>(number_, policy_.workers, policy_.concurrency);
  workers_.reserve(workers_.size() + 1);
  workers_.emplace_back([this, runner = make_runner_()] { work(*runner); });
  pthread_setname_np(workers_.back().native_handle(), "vcap-batch");
  ++idle_workers_;
}

// Whether the gathering worker sleeps and should not; whoever asks and gets true notifies it.
bool BatchCoreImpl::wake_worker(time_point now) noexcept {
  if (sleep_ == Sleep::none || queue_.empty()) return false;
  if (sleep_ == Sleep::for_more) {
    const std::optional<time_point> until = hold_until(now);
    if (until && *until >= sleep_until_) return false;
  }
  sleep_ = Sleep::none;
  return true;
}

void BatchCoreImpl::cancel(BatchCall& call) noexcept {
  Lock lock(mutex_);
  call.cancelled_ = true;
  if (blocked_ > 0) room_.notify_all();
  Finished finished;
  for (BatchRequest* request = call.first_; request; request = request->next_of_call)
    if (request->state == BatchRequest::State::queued)
      fail_queued(*request, std::make_exception_ptr(cancelled_error()), finished);
  queue_changed();
  tell(lock, finished);
}

void BatchCoreImpl::close(bool cancel_queued) {
  if (PredictArena::current() == number_) throw reentrant_error();
  Lock lock(mutex_);
  closing_ = true;
  room_.notify_all();
  work_.notify_all();
  Finished finished;
  if (cancel_queued)
    while (BatchRequest* request = queue_.first_to_drop())
      fail_queued(*request, std::make_exception_ptr(closed_error()), finished);
  queue_changed();
  tell(lock, finished);
  all_answered_.wait(lock, [this] { return unanswered_ == 0; });
  finished_ = true;
  watch_wake_.notify_all();
  lock.unlock();

  const std::lock_guard join(join_mutex_);
  for (std::thread& worker : workers_)
    if (worker.joinable()) worker.join();
  if (watch_.joinable()) watch_.join();
}

void BatchCoreImpl::fail_queued(BatchRequest& request, std::exception_ptr why,
                                Finished& finished) noexcept {
  queue_.remove(request);
  request.fail(std::move(why));
  count_off(request, finished);
}

void BatchCoreImpl::count_off(BatchRequest& request, Finished& finished) noexcept {
  BatchCall& call = *request.call;
  if (--call.pending_ > 0) return;
  call.next_finished_ = nullptr;
  (finished.last ? finished.last->next_finished_ : finished.first) = &call;
  finished.last = &call;
  ++finished.count;
}

// Tells finished calls so, without the lock.
void BatchCoreImpl::tell(Lock& lock, Finished& finished) noexcept {
  if (!finished.first) return;
  lock.unlock();
  for (BatchCall* call = finished.first; call;) {
    BatchCall* next = call->next_finished_;
    call->answered();
    call = next;
  }
  lock.lock();
  unanswered_ -= finished.count;
  finished = {};
  if (closing_ && unanswered_ == 0) all_answered_.notify_all();
}

void BatchCoreImpl::queue_changed() noexcept {
  workload_.store(queue_.size() + running_, std::memory_order_relaxed);
  if (blocked_ > 0 && !full()) room_.notify_all();
}

}  // namespace vcap::detail
