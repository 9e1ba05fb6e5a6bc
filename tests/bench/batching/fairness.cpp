// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "support/quantile.hpp"
#include "vcap/batching/batch_stream_scope.hpp"

namespace vcap::bench::batching {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBatch = 16;
constexpr int kLightStreams = 7;
constexpr std::chrono::microseconds kBatchTime = 1ms;
const auto kBusy = workload(500ms, 20ms);  // per sample

struct Share {
  double items_per_second;
  double batch_seconds;           // from batch to batch, with the executor's own time between them
  std::vector<double> latencies;  // only those of the light streams
};

/// One stream keeps kWindow requests outstanding, beside `light_streams` that send one at a time.
Share beside_a_hog(int light_streams) {
  std::atomic<std::size_t> items{0}, batches{0};
  Executor executor(
      [&](std::span<const int> inputs) {
        sleep_as_device(kBatchTime);
        items += inputs.size();
        ++batches;
        return echo(inputs);
      },
      {.max_batch_size = kBatch});
  std::vector<std::vector<double>> latencies(static_cast<std::size_t>(light_streams));
  const double took = seconds([&] {
    const auto end = Clock::now() + kBusy;
    std::vector<std::jthread> streams;
    streams.emplace_back([&] {
      const BatchStreamScope scope("hog");
      windowed(
          kWindow, [=](int) { return Clock::now() < end; },
          [&](int i) { return executor.submit(i); });
    });
    for (std::size_t i = 0; i < latencies.size(); ++i)
      streams.emplace_back([&, i] {
        const BatchStreamScope scope("light " + std::to_string(i));
        // With a random pause, a request arrives at any moment of a batch with equal probability.
        std::minstd_rand random(static_cast<unsigned>(i + 1));
        std::uniform_int_distribution<int> think(0, static_cast<int>(kBatchTime.count()));
        while (Clock::now() < end) {
          std::this_thread::sleep_for(std::chrono::microseconds(think(random)));
          latencies[i].push_back(seconds([&] { executor.run(0); }));
        }
      });
  });
  Share share{static_cast<double>(items) / took, took / static_cast<double>(batches), {}};
  for (const auto& of_stream : latencies)
    share.latencies.insert(share.latencies.end(), of_stream.begin(), of_stream.end());
  return share;
}

}  // namespace

std::vector<Figure> fairness() {
  return {{.id = "batching.6",
           .what = "7 light streams beside a hog, p99 latency in batch times",
           .target = 2,  // the rest of the running batch, and the next one
           .sample =
               [] {
                 Share share = beside_a_hog(kLightStreams);
                 return quantile(std::move(share.latencies), 0.99) / share.batch_seconds;
               }},
          {.id = "batching.6",
           .what = "items a second of a hog and 7 light streams, a hog alone",
           .target = 0.95,
           .better = Better::higher,
           .sample = [] {
             return ratio([] { return beside_a_hog(kLightStreams).items_per_second; },
                          [] { return beside_a_hog(0).items_per_second; });
           }}};
}

}  // namespace vcap::bench::batching
