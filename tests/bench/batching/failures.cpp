// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "support/bare_timer.hpp"
#include "support/quantile.hpp"
#include "vcap/base/error.hpp"

namespace vcap::bench::batching {
namespace {

using namespace std::chrono_literals;

constexpr auto kDeadline = 10ms;
const int kDeadlines = workload(20, 2);  // per sample, during one batch that runs for some 400 ms

double bare_deadline() {
  double late = 0;
  std::jthread([&] { late = bare_timer(Clock::now() + kDeadline); }).join();
  return late;
}

/// How long after the deadline the sender learns that its request cannot run in time, in seconds.
double failed_deadline(HeldExecutor& executor) {
  const auto deadline = Clock::now() + kDeadline;
  try {
    executor->run(0, {.deadline = deadline});
  } catch (const BatchError& error) {
    if (error.code() != ErrorCode::deadline_exceeded) throw;
    return std::chrono::duration<double>(Clock::now() - deadline).count();
  }
  throw std::logic_error("a request was predicted while its executor was held");
}

double deadline_overshoot() {
  HeldExecutor executor(BatchPolicy{});
  executor.hold();
  std::vector<double> failures, timers;
  for (int i = 0; i < kDeadlines; ++i) {
    failures.push_back(failed_deadline(executor));
    timers.push_back(bare_deadline());
  }
  return quantile(std::move(failures), 0.5) / quantile(std::move(timers), 0.5);
}

constexpr int kIsolated = 40;  // requests in the batch; one of them makes it fail

struct Isolation {
  int predicts;          // until all others have their answers
  int with_the_culprit;  // the calls whose inputs contain the bad item; each is a part of the one
                         // before
};

Isolation isolate(int culprit) {
  std::atomic<int> predicts{0}, with_the_culprit{0};
  // The delay holds the batch back until all requests are sent.
  Executor executor(
      [&](std::span<const int> inputs) {
        ++predicts;
        if (std::find(inputs.begin(), inputs.end(), culprit) == inputs.end()) return echo(inputs);
        ++with_the_culprit;
        throw std::runtime_error("the culprit");
      },
      {.max_batch_size = kIsolated, .max_queue_delay = 10s, .isolate_failures = true});
  std::vector<std::future<int>> answers;
  for (int i = 0; i < kIsolated; ++i) answers.push_back(executor.submit(i));
  for (int i = 0; i < kIsolated; ++i)
    if (i != culprit && answers[static_cast<std::size_t>(i)].get() != i)
      throw std::logic_error("a request got the answer to another");
  return {predicts, with_the_culprit};
}

double worst_isolation(int Isolation::*count) {
  int worst = 0;
  for (int culprit = 0; culprit < kIsolated; ++culprit)
    worst = std::max(worst, isolate(culprit).*count);
  return worst;
}

}  // namespace

std::vector<Figure> failures() {
  return {{.id = "batching.7",
           .what = "deadline of 10 ms while a batch runs, overshoot, a bare timer's",
           .target = 1.5,
           .sample = deadline_overshoot},
          {.id = "batching.7",
           .what = "predicts until the 39 others beside a thrower are answered",
           .target = 8,  // docs/batching.md says why fewer are impossible
           .sample = [] { return worst_isolation(&Isolation::predicts); },
           .samples = 1},
          {.id = "batching.7",
           .what = "predicts that are given the thrower among 40",
           .target = 7,  // ⌈log2 40⌉ halvings, and the batch itself
           .sample = [] { return worst_isolation(&Isolation::with_the_culprit); },
           .samples = 1},
          {.id = "batching.7",
           .what = "isolate_failures where none fails, time without it",
           .target = 1.02,
           .sample = [] {
             BatchPolicy isolating = large_batches(), careless = large_batches();
             isolating.isolate_failures = true;
             careless.isolate_failures = false;
             return ratio([&] { return through_run_all(1, isolating); },
                          [&] { return through_run_all(1, careless); }, kFineRounds);
           }}};
}

}  // namespace vcap::bench::batching
