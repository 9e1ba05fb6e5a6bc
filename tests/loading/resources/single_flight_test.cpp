// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/single_flight.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/bounded_wait.hpp"

namespace vcap {
namespace {

constexpr std::size_t kWaiters = 4;

void wait_for_waiters(const SingleFlight<int>& flights, const std::string& key) {
  test::yield_until("callers that wait", [&] { return flights.waiting(key) >= kWaiters; });
}

TEST(SingleFlight, GivesOneResultToAllWaitingCallers) {
  SingleFlight<int> flights;
  std::atomic<int> runs = 0;
  std::atomic<int> sum = 0;
  const auto ask = [&] {
    sum += flights.run("a", [&] {
      ++runs;
      wait_for_waiters(flights, "a");
      return 7;
    });
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i <= kWaiters; ++i) threads.emplace_back(ask);
  }
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(sum, 7 * static_cast<int>(kWaiters + 1));
}

TEST(SingleFlight, FailsForAllWaitingCallers) {
  SingleFlight<int> flights;
  std::atomic<int> runs = 0;
  std::atomic<std::size_t> failures = 0;
  const auto ask = [&] {
    try {
      flights.run("a", [&]() -> int {
        ++runs;
        wait_for_waiters(flights, "a");
        throw std::runtime_error("no");
      });
    } catch (const std::runtime_error&) {
      ++failures;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i <= kWaiters; ++i) threads.emplace_back(ask);
  }
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(failures, kWaiters + 1);
}

TEST(SingleFlight, RunsAgainForALaterCaller) {
  SingleFlight<int> flights;
  int runs = 0;
  EXPECT_THROW(flights.run("a", [&]() -> int { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(flights.run("a", [&] { return ++runs; }), 1);
  EXPECT_EQ(flights.run("a", [&] { return ++runs; }), 2);
  EXPECT_EQ(flights.waiting("a"), 0u);
}

TEST(SingleFlight, RunsDifferentKeysAtOnce) {
  SingleFlight<int> flights;
  EXPECT_EQ(flights.run("a", [&] { return flights.run("b", [] { return 3; }) + 1; }), 4);
}

}  // namespace
}  // namespace vcap
