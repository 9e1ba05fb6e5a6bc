// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <future>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "vcap/batching/batch_stream_scope.hpp"

namespace vcap::bench::batching {
namespace {

using namespace std::chrono_literals;

constexpr int kQueued = 4096;  // with the most streams, each has one waiting request
const int kFills = workload(10, 1);

/// Processor time to queue kQueued requests and answer them, kFills times. The streams take turns.
double through_streams(int streams) {
  std::vector<std::string> ids;
  for (int i = 0; i < streams; ++i) ids.push_back("camera-" + std::to_string(i));
  HeldExecutor executor(large_batches());
  std::vector<std::future<int>> answers(kQueued);
  const auto fill = [&] {
    executor.hold();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const BatchStreamScope scope(ids[i % ids.size()]);
      answers[i] = executor->submit(0);
    }
    executor.release();
    // Waits only for the last answer. With a wait for each, the number of wake-ups would differ
    // much from run to run.
    answers.back().wait();
    for (auto& answer : answers) answer.get();
  };
  fill();  // from now on, the queue has its memory
  const std::clock_t before = std::clock();
  for (int i = 0; i < kFills; ++i) fill();
  return static_cast<double>(std::clock() - before);
}

const auto kCalling = workload(200ms, 10ms);

/// Requests per second of `callers` threads; each waits for its answer and then sends again.
double calls_a_second(int callers) {
  Executor executor(echo, large_batches());
  executor.run(0);
  std::latch all_there(callers + 1);
  std::atomic<bool> over{false};
  std::atomic<long> calls{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back([&] {
      all_there.arrive_and_wait();
      long own = 0;
      for (; !over; ++own) executor.run(0);
      calls += own;
    });
  all_there.arrive_and_wait();
  const double took = seconds([&] {
    std::this_thread::sleep_for(kCalling);
    over = true;
    threads.clear();
  });
  return static_cast<double>(calls) / took;
}

}  // namespace

std::vector<Figure> scale() {
  std::vector<Figure> figures;
  for (const int streams : {64, 512, 4096})
    figures.push_back({.id = "batching.9",
                       .what = "a request, " + std::to_string(streams) +
                               " streams in turn, CPU time of one stream's",
                       .target = 1.15,
                       .sample = [=] {
                         return ratio([=] { return through_streams(streams); },
                                      [] { return through_streams(1); }, 5);
                       }});
  figures.push_back({.id = "batching.9",
                     .what = "requests a second of 256 blocked callers, of 16",
                     .target = 0.9,
                     .better = Better::higher,
                     .sample = [] {
                       return ratio([] { return calls_a_second(256); },
                                    [] { return calls_a_second(16); }, 3);
                     }});
  return figures;
}

}  // namespace vcap::bench::batching
