// SPDX-License-Identifier: Apache-2.0
// Tests of cancellation, closing and destruction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "batching/expect_batch_error.hpp"
#include "batching/predictor.hpp"
#include "support/bounded_wait.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace vcap {
namespace {

using test::expect_batch_error;
using testing::ElementsAre;

class BatchEnd : public testing::Test {
 protected:
  using Executor = BatchExecutor<int, int>;

  void hold_first_batch(Executor& executor) {
    predictor.hold();
    running = executor.submit(0);
    predictor.await_batches(1);
  }

  /// Returns once `count` requests wait or run.
  static void await_workload(const Executor& executor, std::size_t count) {
    test::yield_until(std::to_string(count) + " requests",
                      [&] { return executor.workload() == count; });
  }

  test::Predictor predictor;
  std::future<int> running;
};

using BatchCancellation = BatchEnd;

TEST_F(BatchCancellation, FailsAQueuedRequestAtOnceAndNoOther) {
  Executor executor(std::ref(predictor));
  hold_first_batch(executor);
  std::stop_source stop;
  auto cancelled = executor.submit(1, {.cancellation = stop.get_token()});
  auto mate = executor.submit(2);
  stop.request_stop();
  expect_batch_error(ErrorCode::cancelled, "stop token", [&] { cancelled.get(); });
  predictor.release();
  EXPECT_EQ(mate.get(), 4);
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(0), ElementsAre(2)));
}

TEST_F(BatchCancellation, HasNoEffectOncePredictHasTheInput) {
  Executor executor(std::ref(predictor));
  predictor.hold();
  std::stop_source stop;
  auto future = executor.submit(1, {.cancellation = stop.get_token()});
  predictor.await_batches(1);
  stop.request_stop();
  predictor.release();
  EXPECT_EQ(future.get(), 2);
}

TEST_F(BatchCancellation, FailsARequestBeforeItIsSentWithoutPredict) {
  Executor executor(std::ref(predictor));
  std::stop_source stop;
  stop.request_stop();
  auto future = executor.submit(1, {.cancellation = stop.get_token()});
  EXPECT_THROW(future.get(), BatchError);
  EXPECT_THROW(executor.run(1, {.cancellation = stop.get_token()}), BatchError);
  EXPECT_THAT(predictor.batches(), ElementsAre());
  EXPECT_EQ(executor.workload(), 0u);
}

TEST_F(BatchCancellation, DoesNothingAfterTheAnswer) {
  Executor executor(std::ref(predictor));
  std::stop_source stop;
  auto future = executor.submit(1, {.cancellation = stop.get_token()});
  EXPECT_EQ(future.get(), 2);
  stop.request_stop();
  EXPECT_EQ(executor.run(3), 6);
}

TEST_F(BatchCancellation, FailsTheInputsOfRunAllThatStillWait) {
  Executor executor(std::ref(predictor), {.max_batch_size = 2});
  predictor.hold();
  std::stop_source stop;
  std::jthread many([&] {
    expect_batch_error(ErrorCode::cancelled, "stop token", [&] {
      executor.run_all({1, 2, 3, 4, 5}, {.cancellation = stop.get_token()});
    });
  });
  predictor.await_batches(1);
  stop.request_stop();
  EXPECT_EQ(executor.workload(), 2u);
  predictor.release();
  many.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1, 2)));
}

TEST_F(BatchCancellation, ReleasesABlockedSender) {
  Executor executor(std::ref(predictor), {.max_queue_size = 1});
  hold_first_batch(executor);
  auto queued = executor.submit(1);
  std::stop_source stop;
  std::jthread sender([&] {
    expect_batch_error(ErrorCode::cancelled, "stop token",
                       [&] { executor.run(2, {.cancellation = stop.get_token()}); });
  });
  stop.request_stop();
  sender.join();
  predictor.release();
  EXPECT_EQ(queued.get(), 2);
}

using BatchClose = BatchEnd;

TEST_F(BatchClose, AnswersAllAcceptedRequests) {
  Executor executor(std::ref(predictor), {.max_batch_size = 1});
  hold_first_batch(executor);
  auto first = executor.submit(1);
  auto second = executor.submit(2);
  std::jthread closer([&] { executor.close(); });
  predictor.release();
  closer.join();
  EXPECT_EQ(first.get() + second.get(), 6);
  EXPECT_EQ(executor.workload(), 0u);
}

TEST_F(BatchClose, RefusesLaterRequests) {
  Executor executor(std::ref(predictor));
  executor.close();
  expect_batch_error(ErrorCode::closed, "it is closed", [&] { executor.submit(1); });
  expect_batch_error(ErrorCode::closed, "it is closed", [&] { executor.run(1); });
  expect_batch_error(ErrorCode::closed, "it is closed", [&] { executor.run_all({1, 2}); });
}

TEST_F(BatchClose, MayBeCalledTwice) {
  Executor executor(std::ref(predictor));
  EXPECT_EQ(executor.run(1), 2);
  executor.close();
  executor.close(CloseMode::cancel);
  SUCCEED();
}

TEST_F(BatchClose, WithCancelFailsWaitingAndFinishesRunningRequests) {
  Executor executor(std::ref(predictor));
  hold_first_batch(executor);
  auto waiting = executor.submit(1);
  std::jthread closer([&] { executor.close(CloseMode::cancel); });
  expect_batch_error(ErrorCode::closed, "closed", [&] { waiting.get(); });
  predictor.release();
  closer.join();
  EXPECT_EQ(running.get(), 0);
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(0)));
}

TEST_F(BatchClose, WithCancelEndsADrainEarly) {
  Executor executor(std::ref(predictor));
  hold_first_batch(executor);
  auto waiting = executor.submit(1);
  std::jthread drain([&] { executor.close(); });
  std::jthread cancel([&] { executor.close(CloseMode::cancel); });
  EXPECT_THROW(waiting.get(), BatchError);
  predictor.release();
}

TEST_F(BatchClose, ReleasesBlockedSenders) {
  Executor executor(std::ref(predictor), {.max_queue_size = 1});
  hold_first_batch(executor);
  auto queued = executor.submit(1);
  std::jthread sender(
      [&] { expect_batch_error(ErrorCode::closed, "it is closed", [&] { executor.submit(2); }); });
  std::jthread closer([&] { executor.close(); });
  sender.join();
  predictor.release();
  closer.join();
  EXPECT_EQ(queued.get(), 2);
}

TEST_F(BatchClose, FailsARunAllThatIsNotYetFullyAccepted) {
  Executor executor(std::ref(predictor), {.max_queue_size = 2});
  hold_first_batch(executor);
  std::jthread many([&] {
    expect_batch_error(ErrorCode::closed, "it is closed", [&] { executor.run_all({1, 2, 3}); });
  });
  await_workload(executor, 3);
  std::jthread closer([&] { executor.close(); });
  expect_batch_error(ErrorCode::closed, "it is closed", [&] {
    for (;;) executor.submit(9);  // blocks until closing has begun
  });
  predictor.release();
  many.join();
  closer.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST_F(BatchEnd, DestructorAnswersWaitingCallers) {
  auto executor = std::make_unique<Executor>(std::ref(predictor));
  hold_first_batch(*executor);
  auto waiting = executor->submit(1);
  std::jthread caller([&, to = executor.get()] { EXPECT_EQ(to->run(2), 4); });
  await_workload(*executor, 3);
  std::jthread owner([&] { executor.reset(); });
  predictor.release();
  owner.join();
  EXPECT_EQ(running.get() + waiting.get(), 2);
}

TEST_F(BatchEnd, DestructorOfAnUnusedExecutorReturns) { Executor executor(std::ref(predictor)); }

}  // namespace
}  // namespace vcap
