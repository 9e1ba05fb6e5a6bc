// SPDX-License-Identifier: Apache-2.0
#include "batching/workload.hpp"

#include <thread>
#include <utility>

#include "support/figures.hpp"

namespace vcap::bench::batching {
namespace {

constexpr int kHold = -1;  // predict waits for release() on this input

}  // namespace

std::vector<int> echo(std::span<const int> inputs) { return {inputs.begin(), inputs.end()}; }

BatchPolicy large_batches() { return {.max_batch_size = kWindow}; }

void on_threads(int threads, const std::function<void(int)>& work) {
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&] { work(kRequests / threads); });
}

double through_run_all(int producers, const BatchPolicy& policy) {
  Executor executor(echo, policy);
  executor.run(0);
  return seconds([&] {
    on_threads(producers, [&](int requests) {
      for (int done = 0; done < requests; done += static_cast<int>(kWindow))
        executor.run_all(std::vector<int>(kWindow, done));
    });
  });
}

void sleep_as_device(std::chrono::microseconds time) {
  std::this_thread::sleep_until(Clock::now() + time);
}

HeldExecutor::HeldExecutor(const BatchPolicy& policy, std::function<void()> device)
    : executor_(
          [this, device = std::move(device)](std::span<const int> inputs) {
            if (inputs.front() == kHold) {
              held_.release();
              go_on_.acquire();
            } else {
              device();
            }
            return echo(inputs);
          },
          policy) {}

HeldExecutor::~HeldExecutor() {
  if (holding_) release();
}

void HeldExecutor::hold() {
  executor_.submit(kHold);
  held_.acquire();
  holding_ = true;
}

void HeldExecutor::release() {
  holding_ = false;
  go_on_.release();
}

}  // namespace vcap::bench::batching
