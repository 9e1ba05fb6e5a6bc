// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "support/lone_queue.hpp"
#include "vcap/base/error.hpp"

namespace vcap::bench::batching {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFull = 32;  // items per batch
constexpr std::chrono::microseconds kFullTime = 2ms;
const auto kOverloaded = workload(400ms, 20ms);  // per sample

/// Items per second that the device can process.
double capacity() {
  std::size_t items = 0;
  const double took = seconds([&] {
    for (const auto end = Clock::now() + kOverloaded; Clock::now() < end; items += kFull)
      sleep_as_device(kFullTime);
  });
  return static_cast<double>(items) / took;
}

void send_or_be_rejected(Executor& executor) {
  try {
    executor.submit(0);
  } catch (const BatchError& error) {
    if (error.code() != ErrorCode::queue_full) throw;
  }
}

/// Answered items per second, from the end of the first batch to the end of the last. Requests come
/// at twice the rate that the device can process without a pause, whether they are answered or not.
double goodput() {
  const double rate = 2 * kFull / std::chrono::duration<double>(kFullTime).count();
  std::atomic<bool> loaded{true};
  std::size_t batches = 0, items = 0;
  Clock::time_point first, last;
  Executor executor(
      [&](std::span<const int> inputs) {
        sleep_as_device(kFullTime);
        if (!loaded) return echo(inputs);
        last = Clock::now();
        if (batches++ == 0)
          first = last;
        else
          items += inputs.size();
        return echo(inputs);
      },
      {.max_batch_size = kFull,
       .max_queue_size = 2 * kFull,
       .overflow = QueueOverflowPolicy::reject});
  const auto start = Clock::now();
  double sent = 0;
  for (auto now = start; now < start + kOverloaded; now = Clock::now()) {
    const double due = rate * std::chrono::duration<double>(now - start).count();
    for (; sent < due; ++sent) send_or_be_rejected(executor);
    std::this_thread::sleep_for(500us);
  }
  loaded = false;
  executor.close();
  return static_cast<double>(items) / std::chrono::duration<double>(last - first).count();
}

constexpr int kRejections = 20'000;

/// The time of kRejections rejections, in seconds.
double rejections() {
  HeldExecutor executor(
      {.max_batch_size = 1, .max_queue_size = 1, .overflow = QueueOverflowPolicy::reject});
  executor.hold();
  executor->submit(0);
  return seconds([&] {
    for (int i = 0; i < kRejections; ++i)
      if (executor->try_submit(std::move(i))) throw std::logic_error("a full queue took a request");
  });
}

double pushes() {
  LoneQueue<int> queue([](std::vector<int>&) {});
  return seconds([&] {
    for (int i = 0; i < kRejections; ++i) queue.push(i);
  });
}

}  // namespace

std::vector<Figure> overload() {
  return {{.id = "batching.8",
           .what = "answers a second at twice the load, the device's capacity",
           .target = 0.95,
           .better = Better::higher,
           .sample = [] { return ratio(goodput, capacity); }},
          {.id = "batching.8",
           .what = "a rejection by try_submit, time of a lone queue's push",
           .target = 2,
           .sample = [] { return ratio(rejections, pushes); }}};
}

}  // namespace vcap::bench::batching
