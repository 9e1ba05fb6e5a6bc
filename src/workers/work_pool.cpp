// SPDX-License-Identifier: Apache-2.0
#include "workers/work_pool.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/relax.hpp"
#include "base/thread_annotations.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

thread_local std::uint64_t current_worker = 0;

}  // namespace

struct WorkPool::Core : std::enable_shared_from_this<Core> {
  explicit Core(std::size_t most) : limit(std::max<std::size_t>(most, 1)) {}

  void start_worker() VCAP_REQUIRES(mutex);
  void start_worker_where_needed() VCAP_REQUIRES(mutex);
  void add(std::shared_ptr<Lane> lane) VCAP_REQUIRES(mutex);
  bool wants_to_wake() VCAP_REQUIRES(mutex);
  void spin() VCAP_REQUIRES(mutex);
  void run(std::uint64_t worker) VCAP_EXCLUDES(mutex);

  Mutex mutex;
  CondVar wake;
  /// Lanes with waiting work, each once.
  std::deque<std::shared_ptr<Lane>> ready VCAP_GUARDED_BY(mutex);
  std::atomic<std::size_t> waiting = 0;  ///< pieces in all lanes; changed with `mutex` held
  /// Threads that wait for work or are being started.
  std::size_t idle VCAP_GUARDED_BY(mutex) = 0;
  bool spinning VCAP_GUARDED_BY(mutex) = false;  ///< one of them does not sleep yet
  std::size_t limit VCAP_GUARDED_BY(mutex);
  /// A worker was woken or started, and does not run yet.
  bool waking VCAP_GUARDED_BY(mutex) = false;
  /// There may be work for which no worker was woken.
  bool unheard VCAP_GUARDED_BY(mutex) = false;
  bool closed VCAP_GUARDED_BY(mutex) = false;
  std::uint64_t last_worker VCAP_GUARDED_BY(mutex) = 0;
  std::map<std::uint64_t, std::thread> threads VCAP_GUARDED_BY(mutex);
};

Lane::~Lane() = default;

void WorkPool::Core::start_worker() {
  const std::uint64_t worker = ++last_worker;
  // Its place first: a thread that runs without one could not be joined.
  const auto place = threads.try_emplace(worker).first;
  try {
    place->second = std::thread([core = shared_from_this(), worker] { core->run(worker); });
  } catch (...) {
    threads.erase(place);
    throw;
  }
  ++idle;
}

/// Temporarily releases the lock if the system gives no thread.
void WorkPool::Core::start_worker_where_needed() {
  if (idle >= waiting || threads.size() >= limit || closed) return;
  try {
    start_worker();
  } catch (const std::system_error& error) {
    // The threads that run do the work. Asking again at each frame would not help.
    limit = std::max<std::size_t>(threads.size(), 1);
    const std::string refusal = "frame workers: the system allows only " + std::to_string(limit) +
                                " threads (" + error.what() + ")";
    const MutexUnlock released(mutex);  // the host's log hook may ask the pipeline
    log(LogLevel::warning, refusal);
  } catch (const std::bad_alloc&) {  // the threads that run do the work
  }
}

void WorkPool::Core::add(std::shared_ptr<Lane> lane) {
  Lane& ref = *lane;
  if (ref.waiting_ == 0) ready.push_back(std::move(lane));
  ++ref.waiting_;
  ++waiting;
}

/// Whether to wake a worker. Wake it without the lock, or it waits for the lock at once. Workers
/// are woken one at a time; each wakes the next one if work is left. Waking one for each piece
/// would cost more than most pieces, and workers that are awake would already have done the work.
bool WorkPool::Core::wants_to_wake() {
  start_worker_where_needed();
  unheard = false;
  const std::size_t awake = spinning ? 1 : 0;
  return waiting > awake && idle > awake && !std::exchange(waking, true);
}

/// Waits for work for some two microseconds without sleeping, because to sleep and be woken costs
/// more. Only one worker does so at a time. Temporarily releases the lock.
void WorkPool::Core::spin() {
  constexpr int kTries = 50;
  if (spinning) return;
  spinning = true;
  {
    const MutexUnlock released(mutex, kAdaptive);
    for (int i = 0; i < kTries && waiting.load(std::memory_order_relaxed) == 0; ++i) relax();
  }
  spinning = false;
}

void WorkPool::Core::run(std::uint64_t worker) {
  current_worker = worker;
  MutexLock lock(mutex);
  for (bool comes = true;; comes = false) {
    if (!closed && waiting == 0) spin();
    while (!closed && waiting == 0) {
      comes = true;
      waking = false;
      wake.wait(mutex);
    }
    if (closed) return;
    --idle;
    if (comes) waking = false;
    std::shared_ptr<Lane> lane = std::move(ready.front());
    ready.pop_front();
    --waiting;
    // The lane goes to the back of the line with its remaining work, so that every lane gets its
    // turn.
    if (--lane->waiting_ > 0) ready.push_back(lane);
    const bool wakes = (comes || unheard) && wants_to_wake();
    lock.unlock();
    if (wakes) wake.notify_one();
    lane->run_one();
    lane.reset();
    lock.lock(kAdaptive);
    if (!threads.contains(worker)) break;  // it was given up
    ++idle;
  }
  // Lets others take what it has posted before its return.
  const bool wakes = unheard && wants_to_wake();
  lock.unlock();
  if (wakes) wake.notify_one();
}

WorkPool::WorkPool(std::size_t limit) : core_(std::make_shared<Core>(limit)) {
  // Starts the first thread here, where the caller learns if the system gives none.
  const MutexLock lock(core_->mutex);
  core_->start_worker();
}

WorkPool::~WorkPool() {
  std::map<std::uint64_t, std::thread> threads;
  std::deque<std::shared_ptr<Lane>> dropped;
  {
    const MutexLock lock(core_->mutex);
    core_->closed = true;
    threads.swap(core_->threads);
    dropped.swap(core_->ready);
  }
  core_->wake.notify_all();
  for (auto& [worker, thread] : threads) thread.join();
}

void WorkPool::post(std::shared_ptr<Lane> lane) {
  // The pool may end as soon as the work is added.
  const std::shared_ptr<Core> core = core_;
  bool wakes = false;
  {
    const MutexLock lock(core->mutex, kAdaptive);
    core->add(std::move(lane));
    wakes = core->wants_to_wake();
  }
  if (wakes) core->wake.notify_one();
}

void WorkPool::post_before_return(std::shared_ptr<Lane> lane) {
  const MutexLock lock(core_->mutex, kAdaptive);
  core_->add(std::move(lane));
  core_->unheard = true;
}

void WorkPool::raise_limit(std::size_t limit) {
  const MutexLock lock(core_->mutex);
  core_->limit = std::max(core_->limit, limit);
}

std::size_t WorkPool::limit() const {
  const MutexLock lock(core_->mutex);
  return core_->limit;
}

std::size_t WorkPool::threads() const {
  const MutexLock lock(core_->mutex);
  return core_->threads.size();
}

std::uint64_t WorkPool::current() noexcept { return current_worker; }

void WorkPool::give_up(std::uint64_t worker) {
  const MutexLock lock(core_->mutex);
  const auto found = core_->threads.find(worker);
  if (found == core_->threads.end()) return;
  found->second.detach();
  core_->threads.erase(found);
}

}  // namespace vcap
