// SPDX-License-Identifier: Apache-2.0
#include "vcap/batching/batch_statistics.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "batching/predictor.hpp"
#include "support/manual_clock.hpp"
#include "vcap/base/error.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Bucket = Histogram::Bucket;

MATCHER(IsAccountedFor, "every accepted item is in exactly one count") {
  return arg.accepted == arg.queued + arg.running + arg.answered + arg.failed + arg.dropped +
                             arg.expired + arg.cancelled + arg.closed;
}

class BatchStatisticsTest : public testing::Test {
 protected:
  using Executor = BatchExecutor<int, int>;

  void hold_first_batch(Executor& executor) {
    const std::size_t before = predictor.batches().size();
    predictor.hold();
    first = executor.submit(0);
    predictor.await_batches(before + 1);
  }

  std::shared_ptr<test::ManualClock> clock = std::make_shared<test::ManualClock>();
  test::Predictor predictor;
  std::future<int> first;
};

TEST_F(BatchStatisticsTest, AreEmptyAtFirst) {
  const Executor executor(std::ref(predictor));
  const BatchStatistics statistics = executor.statistics();
  EXPECT_EQ(statistics.accepted, 0u);
  EXPECT_EQ(statistics.batch_sizes.count(), 0u);
}

TEST_F(BatchStatisticsTest, CountWaitingAndRunningItems) {
  Executor executor(std::ref(predictor));
  hold_first_batch(executor);
  auto one = executor.submit(1), other = executor.submit(2);
  const BatchStatistics statistics = executor.statistics();
  EXPECT_EQ(statistics.queued, 2u);
  EXPECT_EQ(statistics.running, 1u);
  EXPECT_EQ(executor.workload(), 3u);
  EXPECT_THAT(statistics, IsAccountedFor());
  predictor.release();
}

TEST_F(BatchStatisticsTest, RecordTheDistributionOfSizesAndTimes) {
  Executor executor(std::ref(predictor),
                    {.max_batch_size = 3, .adaptive_linger = false, .clock = clock});
  hold_first_batch(executor);
  std::vector<std::future<int>> futures;
  futures.push_back(executor.submit(1));
  clock->advance(20ns);
  for (int i = 2; i <= 5; ++i) futures.push_back(executor.submit(i));
  clock->advance(30ns);
  predictor.release();
  for (auto& future : futures) future.get();
  executor.close();

  const BatchStatistics statistics = executor.statistics();
  EXPECT_EQ(statistics.accepted, 6u);
  EXPECT_EQ(statistics.answered, 6u);
  EXPECT_THAT(statistics.batch_sizes.buckets(),
              ElementsAre(Bucket{1, 1, 1}, Bucket{2, 2, 1}, Bucket{3, 3, 1}));
  EXPECT_THAT(statistics.wait_ns.buckets(),
              ElementsAre(Bucket{0, 0, 1}, Bucket{30, 30, 4}, Bucket{50, 50, 1}));
  EXPECT_THAT(statistics.predict_ns.buckets(), ElementsAre(Bucket{0, 0, 2}, Bucket{50, 50, 1}));
}

TEST_F(BatchStatisticsTest, CountItemsByTheirOutcome) {
  Executor executor(
      [&](std::span<const int> inputs) {
        if (inputs.front() < 0) throw std::domain_error("negative");
        return predictor(inputs);
      },
      {.max_batch_size = 2,
       .adaptive_linger = false,
       .max_queue_size = 4,
       .overflow = QueueOverflowPolicy::drop_oldest,
       .isolate_failures = false,
       .clock = clock});
  hold_first_batch(executor);
  std::stop_source stop;
  auto dropped = executor.submit(1);
  auto expired = executor.submit(2, {.deadline = clock->now() + 1ms});
  auto cancelled = executor.submit(3, {.cancellation = stop.get_token()});
  auto failed = executor.submit(-4), failed_too = executor.submit(-5);
  EXPECT_THROW(dropped.get(), BatchError);
  EXPECT_THROW(executor.submit(7, {.deadline = clock->now() - 1ms}).get(), BatchError);
  stop.request_stop();
  clock->advance(1ms);
  EXPECT_THROW(expired.get(), BatchError);
  predictor.release();
  EXPECT_THROW(failed.get(), std::domain_error);
  EXPECT_THROW(failed_too.get(), std::domain_error);

  hold_first_batch(executor);
  auto rejected = executor.submit(0, {.priority = RequestPriority::high});
  std::vector<std::future<int>> high;
  for (int i = 0; i < 3; ++i)
    high.push_back(executor.submit(0, {.priority = RequestPriority::high}));
  EXPECT_THROW(executor.submit(0), BatchError);
  std::jthread closer([&] { executor.close(CloseMode::cancel); });
  EXPECT_THROW(rejected.get(), BatchError);
  predictor.release();
  closer.join();

  const BatchStatistics statistics = executor.statistics();
  EXPECT_THAT(statistics, IsAccountedFor());
  EXPECT_EQ(statistics.answered, 2u);
  EXPECT_EQ(statistics.failed, 2u);
  EXPECT_EQ(statistics.dropped, 1u);
  EXPECT_EQ(statistics.expired, 2u);
  EXPECT_EQ(statistics.cancelled, 1u);
  EXPECT_EQ(statistics.closed, 4u);
  EXPECT_EQ(statistics.rejected, 1u);
  EXPECT_EQ(statistics.queued + statistics.running, 0u);
}

TEST_F(BatchStatisticsTest, CountItemsOfIsolatedFailures) {
  Executor executor(
      [](std::span<const int> inputs) {
        for (const int input : inputs)
          if (input < 0) throw std::domain_error("negative");
        return std::vector<int>(inputs.begin(), inputs.end());
      },
      {.isolate_failures = true});
  EXPECT_THROW(executor.run_all({1, -2, 3, -4, 5}), std::domain_error);
  executor.close();
  EXPECT_EQ(executor.statistics().failed, 2u);
  EXPECT_EQ(executor.statistics().answered, 3u);
  EXPECT_THAT(executor.statistics(), IsAccountedFor());
}

TEST_F(BatchStatisticsTest, CountOnlyWaitingAndRunningItemsWhenTheyAreOff) {
  Executor executor(std::ref(predictor), {.statistics = false});
  hold_first_batch(executor);
  auto queued = executor.submit(1);
  EXPECT_EQ(executor.statistics().queued, 1u);
  EXPECT_EQ(executor.statistics().running, 1u);
  predictor.release();
  queued.get();
  EXPECT_EQ(executor.statistics().accepted, 0u);
  EXPECT_EQ(executor.statistics().wait_ns.count(), 0u);
}

}  // namespace
}  // namespace vcap
