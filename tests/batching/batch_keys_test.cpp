// SPDX-License-Identifier: Apache-2.0
// Inputs with different keys never share a batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "batching/predictor.hpp"
#include "support/manual_clock.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class BatchKeys : public testing::Test {
 protected:
  using Executor = BatchExecutor<int, int>;

  /// The key: numbers that give the same quotient by 10 share batches.
  static std::uint64_t tens(int input) { return static_cast<std::uint64_t>(input / 10); }

  std::unique_ptr<Executor> make(BatchPolicy policy = {}) {
    return std::make_unique<Executor>(std::ref(predictor), policy, tens);
  }
  void hold_first_batch(Executor& executor) {
    predictor.hold();
    first = executor.submit(0);
    predictor.await_batches(1);
  }

  test::Predictor predictor;
  std::future<int> first;
};

TEST_F(BatchKeys, NeverShareABatch) {
  const auto executor = make();
  hold_first_batch(*executor);
  std::vector<std::future<int>> futures;
  for (const int input : {11, 21, 12, 22, 13}) futures.push_back(executor->submit(input));
  predictor.release();
  for (auto& future : futures) future.get();
  EXPECT_THAT(predictor.batches(),
              ElementsAre(ElementsAre(0), ElementsAre(11, 12, 13), ElementsAre(21, 22)));
}

TEST_F(BatchKeys, RunAllWithMixedKeysAnswersInOrder) {
  const auto executor = make();
  EXPECT_THAT(executor->run_all({31, 11, 12, 32, 13}), ElementsAre(62, 22, 24, 64, 26));
  for (const auto& batch : predictor.batches())
    for (const int input : batch) EXPECT_EQ(tens(input), tens(batch.front()));
}

TEST_F(BatchKeys, AFullBatchDoesNotWaitForAnOlderPartialOne) {
  const auto clock = std::make_shared<test::ManualClock>();
  const auto start = clock->now();
  const auto executor = make(
      {.max_batch_size = 2, .max_queue_delay = 10ms, .adaptive_linger = false, .clock = clock});
  auto alone = executor->submit(11);
  clock->await_sleeper(start + 10ms);
  auto one = executor->submit(21);
  auto other = executor->submit(22);
  EXPECT_EQ(one.get() + other.get(), 86);
  clock->await_sleeper(start + 10ms);
  clock->advance(10ms);
  EXPECT_EQ(alone.get(), 22);
}

TEST_F(BatchKeys, TheLongestWaitingKeyGoesFirst) {
  const auto clock = std::make_shared<test::ManualClock>();
  const auto executor = make({.max_batch_size = 1, .clock = clock});
  hold_first_batch(*executor);
  std::vector<std::future<int>> futures;
  for (const int input : {11, 12, 21, 13, 31}) {
    futures.push_back(executor->submit(input));
    clock->advance(1ms);
  }
  predictor.release();
  for (auto& future : futures) future.get();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(0), ElementsAre(11), ElementsAre(12),
                                               ElementsAre(21), ElementsAre(13), ElementsAre(31)));
}

TEST_F(BatchKeys, TheSenderGetsAnExceptionOfTheKeyFunction) {
  Executor executor(std::ref(predictor), {}, [](int input) -> std::uint64_t {
    if (input < 0) throw std::domain_error("no key");
    return 0;
  });
  EXPECT_THROW(executor.submit(-1), std::domain_error);
  EXPECT_THROW(executor.run(-1), std::domain_error);
  EXPECT_THROW(executor.run_all({1, -1}), std::domain_error);
  EXPECT_EQ(executor.run(1), 2);
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1)));
}

TEST_F(BatchKeys, NeverShareABatchAcrossThreads) {
  const auto executor = make({.max_batch_size = 8});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 300; ++i) {
        const int input = 10 * ((thread + i) % 5) + i % 10;
        ASSERT_EQ(executor->run(input), 2 * input);
      }
    });
  threads.clear();
  for (const auto& batch : predictor.batches()) {
    ASSERT_LE(batch.size(), 8u);
    for (const int input : batch) ASSERT_EQ(tens(input), tens(batch.front()));
  }
}

}  // namespace
}  // namespace vcap
