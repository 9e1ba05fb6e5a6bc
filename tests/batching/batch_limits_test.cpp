// SPDX-License-Identifier: Apache-2.0
// Tests of the queue's bounds, of priorities and of fairness, from the caller's side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "batching/expect_batch_error.hpp"
#include "batching/predictor.hpp"
#include "support/bounded_wait.hpp"
#include "vcap/batching/batch_executor.hpp"
#include "vcap/batching/batch_stream_scope.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using test::expect_batch_error;
using testing::ElementsAre;

/// An executor whose first batch is held, so that later requests stay queued.
class BatchLimits : public testing::Test {
 protected:
  using Executor = BatchExecutor<int, int>;

  std::unique_ptr<Executor> held(BatchPolicy policy) {
    predictor.hold();
    auto executor = std::make_unique<Executor>(std::ref(predictor), policy);
    running = executor->submit(0);
    predictor.await_batches(1);
    return executor;
  }

  test::Predictor predictor;
  std::future<int> running;
};

TEST_F(BatchLimits, AFullQueueThatRejectsThrows) {
  const auto executor = held({.max_queue_size = 2, .overflow = QueueOverflowPolicy::reject});
  auto first = executor->submit(1);
  auto second = executor->submit(2);
  expect_batch_error(ErrorCode::queue_full, "max_queue_size is 2", [&] { executor->submit(3); });
  expect_batch_error(ErrorCode::queue_full, "max_queue_size is 2", [&] { executor->run(3); });
  EXPECT_EQ(executor->workload(), 3u);
  predictor.release();
  EXPECT_EQ(first.get() + second.get(), 6);
}

TEST_F(BatchLimits, AFullQueueThatRejectsTakesNoPartOfRunAll) {
  const auto executor = held({.max_queue_size = 4, .overflow = QueueOverflowPolicy::reject});
  auto first = executor->submit(1);
  auto second = executor->submit(2);
  expect_batch_error(ErrorCode::queue_full, "no room for 3 requests", [&] {
    executor->run_all({3, 4, 5});
  });
  EXPECT_EQ(executor->workload(), 3u);
  predictor.release();
}

class BatchTrySubmit : public BatchLimits,
                       public testing::WithParamInterface<QueueOverflowPolicy> {};

TEST_P(BatchTrySubmit, GivesNulloptWhenTheQueueIsFull) {
  const auto executor = held({.max_queue_size = 1, .overflow = GetParam()});
  int input = 1;
  auto queued = executor->try_submit(std::move(input));
  ASSERT_TRUE(queued.has_value());
  EXPECT_FALSE(executor->try_submit(2).has_value());
  EXPECT_FALSE(executor->try_submit(3).has_value());
  EXPECT_EQ(executor->statistics().rejected, 2u);
  EXPECT_EQ(executor->statistics().dropped, 0u);
  predictor.release();
  EXPECT_EQ(queued->get(), 2);
}

INSTANTIATE_TEST_SUITE_P(Policies, BatchTrySubmit,
                         testing::Values(QueueOverflowPolicy::wait, QueueOverflowPolicy::reject,
                                         QueueOverflowPolicy::drop_oldest));

TEST(BatchTrySubmitUnique, LeavesTheInputUnmovedWhenItIsRefused) {
  test::Predictor predictor;
  BatchExecutor<std::unique_ptr<int>, int> executor(
      [&](std::span<const std::unique_ptr<int>> inputs) {
        return predictor(std::vector<int>(inputs.size(), 1));
      },
      {.max_queue_size = 1});
  predictor.hold();
  auto running = executor.submit(std::make_unique<int>(0));
  predictor.await_batches(1);
  auto queued = executor.submit(std::make_unique<int>(1));
  auto input = std::make_unique<int>(2);
  EXPECT_FALSE(executor.try_submit(std::move(input)).has_value());
  ASSERT_NE(input, nullptr);
  predictor.release();
  queued.get();
  auto taken = executor.try_submit(std::move(input));
  EXPECT_EQ(input, nullptr);
  EXPECT_EQ(taken.value().get(), 2);

  executor.close();
  input = std::make_unique<int>(3);
  expect_batch_error(ErrorCode::closed, "it is closed",
                     [&] { executor.try_submit(std::move(input)); });
  EXPECT_NE(input, nullptr);
}

TEST_F(BatchLimits, AFullQueueThatDropsFailsTheOldest) {
  const auto executor = held({.max_queue_size = 2, .overflow = QueueOverflowPolicy::drop_oldest});
  auto first = executor->submit(1);
  auto second = executor->submit(2);
  auto third = executor->submit(3);
  expect_batch_error(ErrorCode::queue_full, "dropped for a newer one", [&] { first.get(); });
  predictor.release();
  EXPECT_EQ(second.get() + third.get(), 10);
}

TEST_F(BatchLimits, AFullQueueThatDropsKeepsHigherPriorities) {
  const auto executor = held({.max_queue_size = 2, .overflow = QueueOverflowPolicy::drop_oldest});
  auto high = executor->submit(1, {.priority = RequestPriority::high});
  auto normal = executor->submit(2);
  auto other = executor->submit(3, {.priority = RequestPriority::high});
  EXPECT_THROW(normal.get(), BatchError);
  expect_batch_error(ErrorCode::queue_full, "no room for 1 request",
                     [&] { executor->submit(4, {.priority = RequestPriority::low}); });
  predictor.release();
  EXPECT_EQ(high.get() + other.get(), 8);
}

TEST_F(BatchLimits, RunAllMayDropItsOwnInputs) {
  const auto executor = held({.max_queue_size = 2, .overflow = QueueOverflowPolicy::drop_oldest});
  std::jthread many([&] {
    expect_batch_error(ErrorCode::queue_full, "dropped", [&] { executor->run_all({1, 2, 3, 4}); });
  });
  test::yield_until("three requests", [&] { return executor->workload() >= 3; });
  predictor.release();
  many.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(0), ElementsAre(3, 4)));
}

TEST_F(BatchLimits, AFullQueueThatBlocksLetsTheSenderInWhenThereIsRoom) {
  const auto executor = held({.max_queue_size = 1});
  auto first = executor->submit(1);
  std::jthread sender([&] { EXPECT_EQ(executor->run(2), 4); });
  predictor.release();
  sender.join();
  EXPECT_EQ(first.get(), 2);
}

TEST_F(BatchLimits, RunAllMayHaveMoreInputsThanTheQueueHolds) {
  Executor executor(std::ref(predictor), {.max_batch_size = 4, .max_queue_size = 3});
  std::vector<int> inputs(100, 1);
  EXPECT_THAT(executor.run_all(inputs), testing::AllOf(testing::SizeIs(100), testing::Each(2)));
}

TEST_F(BatchLimits, AFullQueueDoesNotDelayAnother) {
  const auto full = held({.max_queue_size = 1});
  auto first = full->submit(1);
  std::jthread blocked([&] { full->run(2); });
  Executor other([](std::span<const int> inputs) { return std::vector<int>(inputs.size(), 7); },
                 {.max_queue_size = 1});
  EXPECT_EQ(other.run(1), 7);
  predictor.release();
}

TEST_F(BatchLimits, HigherPrioritiesGoFirst) {
  const auto executor = held({.max_batch_size = 1, .priority_aging = std::chrono::hours(1)});
  std::vector<std::future<int>> futures;
  futures.push_back(executor->submit(1, {.priority = RequestPriority::low}));
  futures.push_back(executor->submit(2));
  futures.push_back(executor->submit(3, {.priority = RequestPriority::high}));
  predictor.release();
  for (auto& future : futures) future.get();
  EXPECT_THAT(predictor.batches(),
              ElementsAre(ElementsAre(0), ElementsAre(3), ElementsAre(2), ElementsAre(1)));
}

TEST_F(BatchLimits, RefusesAnUnknownPriority) {
  Executor executor(std::ref(predictor));
  EXPECT_THROW(executor.submit(1, {.priority = static_cast<RequestPriority>(9)}), InvalidArgument);
}

TEST_F(BatchLimits, StreamsTakeTurnsEvenWhenOneSendsMany) {
  const auto executor = held({.max_batch_size = 4});
  std::vector<std::future<int>> futures;
  {
    const BatchStreamScope hog("hog");
    for (int i = 0; i < 8; ++i) futures.push_back(executor->submit(100 + i));
  }
  for (int stream = 0; stream < 2; ++stream) {
    const BatchStreamScope light("light " + std::to_string(stream));
    futures.push_back(executor->submit(stream));
  }
  predictor.release();
  for (auto& future : futures) future.get();
  EXPECT_THAT(predictor.batches(),
              ElementsAre(ElementsAre(0), ElementsAre(100, 0, 1, 101),
                          ElementsAre(102, 103, 104, 105), ElementsAre(106, 107)));
}

TEST(BatchStreamScope, NamesTheStreamOfItsThreadWhileItLives) {
  EXPECT_EQ(BatchStreamScope::current(), 0u);
  {
    const BatchStreamScope outer("a");
    const auto a = BatchStreamScope::current();
    EXPECT_NE(a, 0u);
    {
      const BatchStreamScope inner("b");
      EXPECT_NE(BatchStreamScope::current(), a);
    }
    EXPECT_EQ(BatchStreamScope::current(), a);
    std::jthread([] { EXPECT_EQ(BatchStreamScope::current(), 0u); }).join();
  }
  EXPECT_EQ(BatchStreamScope::current(), 0u);
}

}  // namespace
}  // namespace vcap
