// SPDX-License-Identifier: Apache-2.0
// Callers that predict in their own threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "batching/batch_observer.hpp"
#include "batching/expect_batch_error.hpp"
#include "batching/predictor.hpp"
#include "support/bounded_wait.hpp"
#include "support/manual_clock.hpp"
#include "vcap/batching/batch_executor.hpp"
#include "vcap/batching/batch_stream_scope.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using test::expect_batch_error;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class BatchLeader : public testing::Test {
 protected:
  using Executor = BatchExecutor<int, int>;

  /// An executor that records which thread predicts each batch.
  std::unique_ptr<Executor> make(const BatchPolicy& policy = {}, Executor::Key key = {}) {
    return std::make_unique<Executor>(
        [this](std::span<const int> inputs) {
          {
            const std::lock_guard lock(mutex_);
            threads_.push_back(std::this_thread::get_id());
          }
          for (const int input : inputs)
            if (input < 0) throw std::domain_error("negative");
          return predictor(inputs);
        },
        policy, std::move(key));
  }

  std::vector<std::thread::id> threads() {
    const std::lock_guard lock(mutex_);
    return threads_;
  }

  /// Returns once `count` items wait or run.
  static void await_workload(const Executor& executor, std::size_t count) {
    test::yield_until(std::to_string(count) + " items",
                      [&] { return executor.workload() == count; });
  }

  const std::thread::id own = std::this_thread::get_id();
  std::shared_ptr<test::ManualClock> clock = std::make_shared<test::ManualClock>();
  const Clock::time_point start = clock->now();
  test::Predictor predictor;

 private:
  std::mutex mutex_;
  std::vector<std::thread::id> threads_;
};

TEST_F(BatchLeader, ACallerThatFindsTheExecutorIdlePredictsItself) {
  const auto executor = make();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(executor->run(i), 2 * i);
  EXPECT_THAT(threads(), AllOf(SizeIs(3), Each(own)));
}

TEST_F(BatchLeader, ACallerOfRunAllPredictsAllItsBatches) {
  const auto executor = make({.max_batch_size = 3});
  EXPECT_THAT(executor->run_all({1, 2, 3, 4, 5, 6, 7}), ElementsAre(2, 4, 6, 8, 10, 12, 14));
  EXPECT_THAT(predictor.batches(),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6), ElementsAre(7)));
  EXPECT_THAT(threads(), Each(own));
}

TEST_F(BatchLeader, ACallerOfRunAllPredictsBatchesOfEachKey) {
  const auto executor = make({}, [](int input) { return static_cast<std::uint64_t>(input / 10); });
  EXPECT_THAT(executor->run_all({31, 11, 12, 32, 13}), ElementsAre(62, 22, 24, 64, 26));
  EXPECT_THAT(threads(), AllOf(SizeIs(2), Each(own)));
}

TEST_F(BatchLeader, OnlyTheExecutorsThreadsPredictIfCallersMayNot) {
  const auto executor = make({.callers_predict = false});
  EXPECT_EQ(executor->run(1), 2);
  EXPECT_THAT(executor->run_all({1, 2}), ElementsAre(2, 4));
  EXPECT_THAT(threads(), AllOf(SizeIs(2), Each(testing::Ne(own))));
}

TEST_F(BatchLeader, SubmitNeverPredicts) {
  const auto executor = make();
  EXPECT_EQ(executor->submit(1).get(), 2);
  EXPECT_EQ(executor->try_submit(1)->get(), 2);
  EXPECT_THAT(threads(), AllOf(SizeIs(2), Each(testing::Ne(own))));
}

TEST_F(BatchLeader, RequestsThatArriveMeanwhileShareTheNextBatch) {
  const auto executor = make();
  predictor.hold();
  std::jthread leader([&] { EXPECT_EQ(executor->run(1), 2); });
  predictor.await_batches(1);
  auto second = executor->submit(2);
  auto third = executor->submit(3);
  EXPECT_EQ(executor->workload(), 3u);
  predictor.release();
  EXPECT_EQ(second.get() + third.get(), 10);
  leader.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1), ElementsAre(2, 3)));
}

TEST_F(BatchLeader, TheCallerThatFillsABatchPredictsIt) {
  const auto executor = make({.max_batch_size = 3, .max_queue_delay = 1h, .clock = clock});
  auto first = executor->submit(1);
  auto second = executor->submit(2);
  clock->await_sleeper(start + 1h);
  EXPECT_EQ(executor->run(3), 6);
  EXPECT_EQ(first.get() + second.get(), 6);
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_THAT(threads(), Each(own));
}

TEST_F(BatchLeader, ACallerWaitsForTheDelayOfItsBatch) {
  const auto executor = make({.max_queue_delay = 10ms, .adaptive_linger = false, .clock = clock});
  std::jthread caller([&] { EXPECT_EQ(executor->run(1), 2); });
  clock->await_sleeper(start + 10ms);
  auto other = executor->submit(2);
  clock->advance(10ms);
  EXPECT_EQ(other.get(), 4);
  caller.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1, 2)));
}

TEST_F(BatchLeader, TheRestOfARunAllWaitsForItsDelay) {
  const auto executor = make({.max_batch_size = 2, .max_queue_delay = 10ms, .clock = clock});
  std::jthread caller([&] { EXPECT_THAT(executor->run_all({1, 2, 3}), ElementsAre(2, 4, 6)); });
  clock->await_sleeper(start + 10ms);
  auto other = executor->submit(4);
  EXPECT_EQ(other.get(), 8);
  caller.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4)));
}

TEST_F(BatchLeader, CallersTakeThePlacesOfWorkers) {
  test::Meeting both(2);
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  Executor executor(
      [&](std::span<const int> inputs) {
        if (++inside > 2) overlapped = true;
        if (inputs.front() < 2) both.arrive_and_wait("the batch of the other caller");
        --inside;
        return std::vector<int>(inputs.begin(), inputs.end());
      },
      {.max_batch_size = 1, .workers = 2});
  std::jthread other([&] { EXPECT_EQ(executor.run(0), 0); });
  EXPECT_EQ(executor.run(1), 1);
  other.join();
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          EXPECT_EQ(executor.run(2), 2);
          EXPECT_EQ(executor.submit(3).get(), 3);
        }
      });
  }
  EXPECT_FALSE(overlapped);
}

TEST_F(BatchLeader, AnotherWorkerTakesTheRestOfARunAll) {
  test::Meeting both(2);
  Executor executor(
      [&](std::span<const int> inputs) {
        both.arrive_and_wait("the other half");
        return std::vector<int>(inputs.begin(), inputs.end());
      },
      {.max_batch_size = 1, .workers = 2});
  EXPECT_THAT(executor.run_all({1, 2}), ElementsAre(1, 2));
}

TEST_F(BatchLeader, ADeadlineThatHasPassedFailsWithoutPredict) {
  const auto executor = make({.clock = clock});
  expect_batch_error(ErrorCode::deadline_exceeded, "deadline",
                     [&] { executor->run(1, {.deadline = start}); });
  EXPECT_THAT(predictor.batches(), ElementsAre());
}

TEST_F(BatchLeader, ADeadlineFiresWhileItsCallerPredictsAnEarlierBatch) {
  const auto executor = make({.max_batch_size = 1, .clock = clock});
  predictor.hold();
  std::jthread caller([&] {
    expect_batch_error(ErrorCode::deadline_exceeded, "deadline", [&] {
      executor->run_all({1, 2, 3}, {.deadline = start + 10ms});
    });
  });
  predictor.await_batches(1);
  clock->await_sleeper(start + 10ms);
  clock->advance(10ms);
  await_workload(*executor, 1);
  predictor.release();
  caller.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1)));
}

TEST_F(BatchLeader, CloseWaitsForACallerThatPredicts) {
  const auto executor = make({.max_queue_size = 1});
  predictor.hold();
  std::jthread caller([&] { EXPECT_EQ(executor->run(1), 2); });
  predictor.await_batches(1);
  std::atomic<bool> closed{false};
  std::jthread closer([&] {
    executor->close();
    closed = true;
  });
  expect_batch_error(ErrorCode::closed, "it is closed", [&] {
    for (;;) executor->submit(9);  // blocks until closing has begun
  });
  EXPECT_FALSE(closed);
  predictor.release();
  closer.join();
}

TEST_F(BatchLeader, CloseWithCancelFailsWhatItsCallerHasNotPredicted) {
  const auto executor = make({.max_batch_size = 1});
  predictor.hold();
  std::jthread caller([&] {
    expect_batch_error(ErrorCode::closed, "closed", [&] { executor->run_all({1, 2, 3}); });
  });
  predictor.await_batches(1);
  std::jthread closer([&] { executor->close(CloseMode::cancel); });
  await_workload(*executor, 1);
  predictor.release();
  caller.join();
  closer.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1)));
}

TEST_F(BatchLeader, AStopRequestCancelsWhatItsCallerHasNotPredicted) {
  const auto executor = make({.max_batch_size = 1});
  predictor.hold();
  std::stop_source stop;
  std::jthread caller([&] {
    expect_batch_error(ErrorCode::cancelled, "stop token", [&] {
      executor->run_all({1, 2, 3}, {.cancellation = stop.get_token()});
    });
  });
  predictor.await_batches(1);
  stop.request_stop();
  EXPECT_EQ(executor->workload(), 1u);
  predictor.release();
  caller.join();
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1)));
}

TEST_F(BatchLeader, TheDestructorWaitsForACallerThatPredicts) {
  auto executor = make();
  predictor.hold();
  std::jthread caller([&, to = executor.get()] { EXPECT_EQ(to->run(1), 2); });
  predictor.await_batches(1);
  std::jthread owner([&] { executor.reset(); });
  predictor.release();
}

TEST_F(BatchLeader, ACallerGetsTheExceptionOfItsOwnPredict) {
  const auto executor = make();
  EXPECT_THROW(executor->run(-1), std::domain_error);
  EXPECT_EQ(executor->run(1), 2);
}

TEST_F(BatchLeader, ABadInputFailsAloneInTheBatchOfACaller) {
  const auto executor =
      make({.max_batch_size = 3, .max_queue_delay = 1h, .isolate_failures = true, .clock = clock});
  auto bad = executor->submit(-1);
  auto good = executor->submit(2);
  EXPECT_EQ(executor->run(3), 6);
  EXPECT_THROW(bad.get(), std::domain_error);
  EXPECT_EQ(good.get(), 4);
  EXPECT_THAT(threads(), Each(own));
}

TEST_F(BatchLeader, CountsAsAnyOtherBatch) {
  const auto executor = make({.max_batch_size = 2});
  executor->run_all({1, 2, 3});
  EXPECT_THROW(executor->run(-1), std::domain_error);
  const BatchStatistics statistics = executor->statistics();
  EXPECT_EQ(statistics.accepted, 4u);
  EXPECT_EQ(statistics.answered, 3u);
  EXPECT_EQ(statistics.failed, 1u);
  EXPECT_EQ(statistics.batch_sizes.count(), 3u);
  EXPECT_EQ(statistics.predict_ns.count(), 3u);
  EXPECT_EQ(statistics.queued + statistics.running, 0u);
}

TEST_F(BatchLeader, PredictsInTheArena) {
  int arena_size = 0;
  Executor executor(
      [&](std::span<const int> inputs) {
        arena_size = tbb::this_task_arena::max_concurrency();
        return std::vector<int>(inputs.size());
      },
      {.concurrency = 3});
  executor.run(1);
  EXPECT_EQ(arena_size, 3);
}

/// Counts batches that begin and end.
class Counting final : public detail::BatchObserver {
 public:
  std::size_t begin(std::size_t items) noexcept override {
    items_ += items;
    return ++begun_;
  }
  void end(std::size_t batch) noexcept override { ended_ = batch; }

  std::size_t items() const { return items_; }
  std::size_t ended() const { return ended_; }

 private:
  std::atomic<std::size_t> items_{0}, begun_{0}, ended_{0};
};

TEST_F(BatchLeader, ReportsItsBatchesToTheObserver) {
  const auto observer = std::make_shared<Counting>();
  const auto executor = make({.max_batch_size = 2});
  const detail::BatchObserverScope scope(observer);
  executor->run_all({1, 2, 3});
  EXPECT_EQ(observer->items(), 3u);
  EXPECT_EQ(observer->ended(), 2u);
}

/// Sends a request when it ends, which takes the executor's lock.
class Sending final : public detail::BatchObserver {
 public:
  Sending(BatchExecutor<int, int>& executor, int& answer) : executor_(executor), answer_(answer) {}
  ~Sending() override { answer_ = executor_.submit(3).get(); }
  std::size_t begin(std::size_t) noexcept override { return 0; }
  void end(std::size_t) noexcept override {}

 private:
  BatchExecutor<int, int>& executor_;
  int& answer_;
};

TEST_F(BatchLeader, ReleasesAnObserverThatIsReplacedWithoutTheLock) {
  const auto executor = make();
  int answer = 0;
  {
    const detail::BatchObserverScope scope(std::make_shared<Sending>(*executor, answer));
    executor->run(1);
  }
  EXPECT_EQ(executor->run(2), 4);  // has no observer
  EXPECT_EQ(answer, 6);
}

// What predict sends belongs to no single stream, because the batch does not.
TEST_F(BatchLeader, PredictsForNoStreamAndNoObserver) {
  std::uint64_t stream = 1;
  bool observed = true;
  Executor executor([&](std::span<const int> inputs) {
    stream = BatchStreamScope::current();
    observed = detail::BatchObserverScope::current() != nullptr;
    return std::vector<int>(inputs.size());
  });
  const BatchStreamScope scope("a");
  const std::uint64_t a = BatchStreamScope::current();
  const auto observer = std::make_shared<Counting>();
  const detail::BatchObserverScope observes(observer);
  executor.run(1);
  EXPECT_EQ(stream, 0u);
  EXPECT_FALSE(observed);
  EXPECT_EQ(BatchStreamScope::current(), a);
  EXPECT_EQ(detail::BatchObserverScope::current(), observer);
}

TEST_F(BatchLeader, MayNotReachItsOwnExecutorThroughAnother) {
  std::unique_ptr<Executor> outer;
  Executor inner([&](std::span<const int> inputs) {
    outer->run(1);
    return std::vector<int>(inputs.size());
  });
  outer = std::make_unique<Executor>([&](std::span<const int> inputs) {
    return inner.run_all(std::vector<int>(inputs.begin(), inputs.end()));
  });
  expect_batch_error(ErrorCode::reentrant_submit, "within its own predict", [&] { outer->run(1); });
}

TEST_F(BatchLeader, MayUseItsExecutorAgainAfterPredictUsedAnother) {
  Executor inner([](std::span<const int> inputs) { return std::vector<int>(inputs.size(), 7); });
  std::unique_ptr<Executor> outer;
  outer = std::make_unique<Executor>([&](std::span<const int> inputs) {
    inner.run(1);
    expect_batch_error(ErrorCode::reentrant_submit, "within its own predict",
                       [&] { outer->submit(1); });
    return std::vector<int>(inputs.size(), 7);
  });
  EXPECT_EQ(outer->run(1), 7);
  EXPECT_EQ(outer->run(1), 7);
}

}  // namespace
}  // namespace vcap
