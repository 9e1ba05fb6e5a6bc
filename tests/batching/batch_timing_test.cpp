// SPDX-License-Identifier: Apache-2.0
// Tests of the policy's time rules, with a clock that stands still until the test moves it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "batching/expect_batch_error.hpp"
#include "batching/predictor.hpp"
#include "support/manual_clock.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using test::expect_batch_error;
using testing::ElementsAre;

class BatchTiming : public testing::Test {
 protected:
  using Executor = BatchExecutor<int, int>;

  /// The policy with this clock. It has no linger, so that only the times that it names count.
  BatchPolicy with(BatchPolicy policy) const {
    policy.clock = clock;
    policy.adaptive_linger = false;
    return policy;
  }

  std::shared_ptr<test::ManualClock> clock = std::make_shared<test::ManualClock>();
  const Clock::time_point start = clock->now();
  test::Predictor predictor;
};

TEST_F(BatchTiming, AnExecutorWithoutADelaySetsNoTimer) {
  Executor executor(std::ref(predictor), with({}));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(executor.run(i), 2 * i);
  EXPECT_EQ(clock->sleeps(), 0u);
}

TEST_F(BatchTiming, CountsTheQueueDelayFromTheFirstRequestsArrival) {
  Executor executor(std::ref(predictor), with({.max_queue_delay = 10ms}));
  auto first = executor.submit(1);
  clock->await_sleeper(start + 10ms);
  clock->advance(6ms);
  auto second = executor.submit(2);
  clock->await_sleeper(start + 10ms);
  EXPECT_THAT(predictor.batches(), ElementsAre());
  clock->advance(4ms);
  EXPECT_EQ(first.get() + second.get(), 6);
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1, 2)));
}

TEST_F(BatchTiming, AFullBatchDoesNotWaitForItsDelay) {
  Executor executor(std::ref(predictor), with({.max_batch_size = 2, .max_queue_delay = 10ms}));
  auto first = executor.submit(1);
  clock->await_sleeper(start + 10ms);
  auto second = executor.submit(2);
  EXPECT_EQ(first.get() + second.get(), 6);
}

TEST_F(BatchTiming, ThePreferredSizeDoesNotWaitForADelay) {
  Executor executor(std::ref(predictor), with({.preferred_sizes = {2, 3}, .max_queue_delay = 1s}));
  EXPECT_THAT(executor.run_all({1, 2, 3}), ElementsAre(2, 4, 6));
}

TEST_F(BatchTiming, TheLargestPreferredSizeThatIsFullGoesFirstAfterADelay) {
  Executor executor(std::ref(predictor),
                    with({.preferred_sizes = {2, 4, 8}, .max_queue_delay = 10ms}));
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 7; ++i) futures.push_back(executor.submit(i));
  clock->await_sleeper(start + 10ms);
  clock->advance(10ms);
  for (auto& future : futures) future.get();
  EXPECT_THAT(predictor.batches(),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5), ElementsAre(6)));
}

TEST_F(BatchTiming, AQueueAtItsBoundDoesNotWaitForADelay) {
  Executor executor(std::ref(predictor), with({.max_queue_delay = 1s, .max_queue_size = 2}));
  EXPECT_THAT(executor.run_all({1, 2}), ElementsAre(2, 4));
}

TEST_F(BatchTiming, ADeadlineWithinTheDelayEndsTheDelay) {
  Executor executor(std::ref(predictor), with({.max_queue_delay = 10ms}));
  auto patient = executor.submit(1);
  clock->await_sleeper(start + 10ms);
  EXPECT_EQ(executor.run(2, {.deadline = start + 5ms}), 4);
  EXPECT_EQ(patient.get(), 2);
}

TEST_F(BatchTiming, CloseEndsADelay) {
  Executor executor(std::ref(predictor), with({.max_queue_delay = 10ms}));
  auto future = executor.submit(1);
  clock->await_sleeper(start + 10ms);
  executor.close();
  EXPECT_EQ(future.get(), 2);
}

TEST_F(BatchTiming, ADeadlineFiresWhileAnotherBatchRuns) {
  predictor.hold();
  Executor executor(std::ref(predictor), with({}));
  auto running = executor.submit(1);
  predictor.await_batches(1);
  auto late = executor.submit(2, {.deadline = start + 10ms});
  auto patient = executor.submit(3);
  clock->await_sleeper(start + 10ms);
  clock->advance(10ms);
  expect_batch_error(ErrorCode::deadline_exceeded, "with 1 others waiting and 1 running",
                     [&] { late.get(); });
  EXPECT_EQ(executor.workload(), 2u);
  predictor.release();
  EXPECT_EQ(running.get() + patient.get(), 8);
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1), ElementsAre(3)));
}

TEST_F(BatchTiming, DeadlinesFireInOrderOfTime) {
  predictor.hold();
  Executor executor(std::ref(predictor), with({}));
  auto running = executor.submit(1);
  predictor.await_batches(1);
  auto later = executor.submit(2, {.deadline = start + 20ms});
  clock->await_sleeper(start + 20ms);
  auto sooner = executor.submit(3, {.deadline = start + 10ms});
  clock->await_sleeper(start + 10ms);
  clock->advance(10ms);
  EXPECT_THROW(sooner.get(), BatchError);
  clock->await_sleeper(start + 20ms);
  EXPECT_NE(later.wait_for(0s), std::future_status::ready);
  clock->advance(10ms);
  EXPECT_THROW(later.get(), BatchError);
  predictor.release();
}

TEST_F(BatchTiming, AWholeQueueMayExpire) {
  predictor.hold();
  Executor executor(std::ref(predictor), with({}));
  auto running = executor.submit(1);
  predictor.await_batches(1);
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 50; ++i) futures.push_back(executor.submit(i, {.deadline = start + 10ms}));
  clock->await_sleeper(start + 10ms);
  clock->advance(10ms);
  for (auto& future : futures) EXPECT_THROW(future.get(), BatchError);
  predictor.release();
  EXPECT_EQ(running.get(), 2);
  EXPECT_EQ(executor.run(5), 10);
}

TEST_F(BatchTiming, ARequestWhoseDeadlineHasPassedFailsWithoutPredict) {
  Executor executor(std::ref(predictor), with({}));
  auto future = executor.submit(1, {.deadline = start});
  expect_batch_error(ErrorCode::deadline_exceeded, "deadline", [&] { future.get(); });
  EXPECT_THAT(predictor.batches(), ElementsAre());
  EXPECT_EQ(executor.workload(), 0u);
}

TEST_F(BatchTiming, PredictFinishesARequestAfterItsDeadline) {
  predictor.hold();
  Executor executor(std::ref(predictor), with({}));
  auto future = executor.submit(1, {.deadline = start + 10ms});
  predictor.await_batches(1);
  clock->advance(20ms);
  predictor.release();
  EXPECT_EQ(future.get(), 2);
}

TEST_F(BatchTiming, ADeadlineReleasesABlockedSender) {
  predictor.hold();
  Executor executor(std::ref(predictor), with({.max_queue_size = 1}));
  auto running = executor.submit(1);
  predictor.await_batches(1);
  auto queued = executor.submit(2);
  std::jthread sender([&] {
    expect_batch_error(ErrorCode::deadline_exceeded, "deadline",
                       [&] { executor.run(3, {.deadline = start + 10ms}); });
  });
  clock->await_sleeper(start + 10ms);
  clock->advance(10ms);
  sender.join();
  predictor.release();
  EXPECT_EQ(queued.get(), 4);
}

/// Callers that were just answered in one full batch of three.
class BatchLinger : public BatchTiming {
 protected:
  BatchPolicy lingering() const {
    return {.max_batch_size = 3, .linger_share = 0.1, .clock = clock};
  }

  void answer_three(Executor& executor) {
    predictor.hold();
    auto alone = executor.submit(0);
    predictor.await_batches(1);
    std::vector<std::future<int>> futures;
    for (int i = 1; i <= 3; ++i) futures.push_back(executor.submit(i));
    clock->advance(20ms);
    predictor.release();
    for (auto& future : futures) future.get();
  }

  // The measured times are 20 ms and then 0 ms, because the clock stood still: 15 ms on average.
  // The very first caller did not come back, so that two of the three are expected.
  static constexpr auto kLinger = 1500us;
};

TEST_F(BatchLinger, WaitsForTheOtherCallersThatWereJustAnswered) {
  Executor executor(std::ref(predictor), lingering());
  answer_three(executor);
  auto first = executor.submit(4);
  clock->await_sleeper(clock->now() + kLinger);
  auto second = executor.submit(5);
  EXPECT_EQ(first.get() + second.get(), 18);
  EXPECT_THAT(predictor.batches().back(), ElementsAre(4, 5));
}

TEST_F(BatchLinger, EndsAtItsShareOfThePredictTime) {
  Executor executor(std::ref(predictor), lingering());
  answer_three(executor);
  auto first = executor.submit(4);
  clock->await_sleeper(clock->now() + kLinger);
  clock->advance(kLinger);
  EXPECT_EQ(first.get(), 8);
}

TEST_F(BatchLinger, IsOverForACallerThatComesBackLate) {
  Executor executor(std::ref(predictor), lingering());
  answer_three(executor);
  clock->advance(kLinger);
  EXPECT_EQ(executor.run(4), 8);
  EXPECT_EQ(clock->sleeps(), 0u);
}

TEST_F(BatchLinger, DoesNotHappenWhenItIsOff) {
  BatchPolicy policy = lingering();
  policy.adaptive_linger = false;
  Executor executor(std::ref(predictor), policy);
  answer_three(executor);
  EXPECT_EQ(executor.run(4), 8);
  EXPECT_EQ(clock->sleeps(), 0u);
}

}  // namespace
}  // namespace vcap
