// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <future>
#include <latch>
#include <semaphore>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "support/ping_pong.hpp"
#include "support/quantile.hpp"
#include "vcap/base/error.hpp"

namespace vcap::bench::batching {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kDrained = 16;  // items per batch
constexpr int kDrainedBatches = 50;
constexpr std::chrono::microseconds kDrainedTime = 2ms;

double drain() {
  HeldExecutor executor({.max_batch_size = kDrained}, [] { sleep_as_device(kDrainedTime); });
  executor.hold();
  std::vector<std::future<int>> answers;
  for (int i = 0; i < kDrainedBatches * static_cast<int>(kDrained); ++i)
    answers.push_back(executor->submit(i));
  const double took = seconds([&] {
    executor.release();
    executor->close();
  });
  for (auto& answer : answers) answer.get();
  return took;
}

/// The time of the batches without an executor, and of two wake-ups: of the held worker and the
/// closer.
double batches_and_wakes() {
  const double batches = seconds([] {
    for (int i = 0; i < kDrainedBatches; ++i) sleep_as_device(kDrainedTime);
  });
  return batches + ping_pong(500);
}

constexpr auto kLastBatch = 20ms;
constexpr int kCancelled = 1000;  // requests that wait behind that batch

/// The time of close(cancel), divided by the remaining time of the running batch. That batch ends
/// only after close() has answered a request that waits: under load, a fixed time might pass
/// before.
double cancel() {
  std::binary_semaphore begun{0};
  std::latch all_wait{1};
  std::vector<std::future<int>> cancelled;
  bool is_first = true;
  Clock::time_point end;
  Executor executor([&](std::span<const int> inputs) {
    if (std::exchange(is_first, false)) {
      begun.release();
      all_wait.wait();
      cancelled.front().wait_for(10s);  // if close() does not answer it, it is predicted
      end = Clock::now() + kLastBatch;
      std::this_thread::sleep_until(end);
    }
    return echo(inputs);
  });
  auto last = executor.submit(0);
  begun.acquire();
  for (int i = 0; i < kCancelled; ++i) cancelled.push_back(executor.submit(i));
  const auto asked = Clock::now();
  all_wait.count_down();
  executor.close(CloseMode::cancel);
  const auto closed = Clock::now();
  last.get();
  for (auto& answer : cancelled) {
    try {
      answer.get();
    } catch (const BatchError& error) {
      if (error.code() == ErrorCode::closed) continue;
      throw;
    }
    throw std::logic_error("a request that waited was predicted after close(cancel)");
  }
  return std::chrono::duration<double>(closed - asked) / (end - asked);
}

}  // namespace

std::vector<Figure> closing() {
  return {{.id = "batching.8",
           .what = "close(drain) of 50 batches, their time and two wakes",
           .target = 1.05,
           .sample = [] { return ratio(drain, batches_and_wakes); }},
          {.id = "batching.8",
           .what = "close(cancel), the rest of the batch that runs",
           .target = 1.05,
           .sample = [] {
             std::vector<double> ratios;
             for (int i = 0; i < 5; ++i) ratios.push_back(cancel());
             return quantile(std::move(ratios), 0.5);
           }}};
}

}  // namespace vcap::bench::batching
