// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <semaphore>
#include <span>
#include <vector>

#include "support/figures.hpp"
#include "vcap/batching/batch_executor.hpp"

/// Work for executors that several parts of batching_bench share.
namespace vcap::bench::batching {

using Clock = std::chrono::steady_clock;
using Executor = BatchExecutor<int, int>;

// Requests per sample: so many that the start of threads does not matter.
inline const int kRequests = workload(100'000, 1'000);
constexpr std::size_t kWindow = 256;
// Rounds of a sample that must resolve a few percent.
constexpr int kFineRounds = 11;

std::vector<int> echo(std::span<const int> inputs);
BatchPolicy large_batches();

/// Keeps `window` futures of `submit(i)` outstanding while `more(i)` is true, and then waits for
/// the rest.
template <class More, class Submit>
void windowed(std::size_t window, More more, Submit submit) {
  std::vector<std::future<int>> futures(window);
  for (int i = 0; more(i); ++i) {
    std::future<int>& slot = futures[static_cast<std::size_t>(i) % window];
    if (slot.valid()) slot.get();
    slot = submit(i);
  }
  for (std::future<int>& slot : futures)
    if (slot.valid()) slot.get();
}

/// Runs `work(n)` in `threads` threads at once; n is the share of kRequests of each.
void on_threads(int threads, const std::function<void(int)>& work);

/// The time of kRequests in calls of run_all, in seconds.
double through_run_all(int producers, const BatchPolicy& policy = large_batches());

/// A device other than the processor: the thread sleeps, and leaves the cores to the callers. The
/// sleep is somewhat longer than `time`, so baselines must sleep in the same way.
void sleep_as_device(std::chrono::microseconds time);

/// An executor whose worker can be held inside predict, so that requests wait in the queue. Thread
/// safety: call hold and release from one thread.
class HeldExecutor {
 public:
  /// Each batch but the held one calls `device`.
  explicit HeldExecutor(
      const BatchPolicy& policy, std::function<void()> device = [] {});
  ~HeldExecutor();
  HeldExecutor(const HeldExecutor&) = delete;
  HeldExecutor& operator=(const HeldExecutor&) = delete;

  Executor* operator->() { return &executor_; }
  /// Returns when the worker is inside predict. Before the call, no request may be queued or
  /// running.
  void hold();
  void release();

 private:
  bool holding_ = false;
  std::binary_semaphore held_{0};
  std::binary_semaphore go_on_{0};
  Executor executor_;
};

}  // namespace vcap::bench::batching
