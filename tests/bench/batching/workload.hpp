// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <semaphore>
#include <span>
#include <vector>

#include "vcap/batching/batch_executor.hpp"

/// What several parts of batching_bench give their executors to do.
namespace vcap::bench::batching {

using Clock = std::chrono::steady_clock;
using Executor = BatchExecutor<int, int>;

// Requests of one sample: enough that starting threads does not count.
constexpr int kRequests = 100'000;
constexpr std::size_t kWindow = 256;
// Rounds of a sample that is to resolve some percent.
constexpr int kFineRounds = 11;

std::vector<int> echo(std::span<const int> inputs);
BatchPolicy large_batches();

/// Keeps futures of `submit(i)` outstanding, so many at a time, for as long as `more(i)`; then
/// waits for the rest.
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

/// Runs `work(n)` on so many threads at once, each with its share of kRequests.
void on_threads(int threads, const std::function<void(int)>& work);

/// How long kRequests take in calls of run_all, in seconds.
double through_run_all(int producers, const BatchPolicy& policy = large_batches());

/// A device beside the processor: the thread sleeps meanwhile, and leaves the cores to the callers.
/// The sleep is somewhat longer than asked for, so what it is held against sleeps as well.
void sleep_as_device(std::chrono::microseconds time);

/// An executor whose worker can be held within predict, so that what is sent meanwhile queues.
/// Thread safety: hold and release belong to one thread.
class HeldExecutor {
 public:
  /// `device` is what every other batch takes.
  explicit HeldExecutor(
      const BatchPolicy& policy, std::function<void()> device = [] {});
  ~HeldExecutor();
  HeldExecutor(const HeldExecutor&) = delete;
  HeldExecutor& operator=(const HeldExecutor&) = delete;

  Executor* operator->() { return &executor_; }
  /// Returns once the worker is within predict. Nothing is queued or running before.
  void hold();
  void release();

 private:
  bool holding_ = false;
  std::binary_semaphore held_{0};
  std::binary_semaphore go_on_{0};
  Executor executor_;
};

}  // namespace vcap::bench::batching
