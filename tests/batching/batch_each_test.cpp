// SPDX-License-Identifier: Apache-2.0
// A predict function that gives its outputs one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "batching/expect_batch_error.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace vcap {
namespace {

using test::expect_batch_error;

using Executor = BatchExecutor<int, int>;
using Outputs = BatchOutputs<int>;

/// Sends the inputs as one batch. Gives the result of each: its output, the name of its error code,
/// or the message of another exception.
std::vector<std::string> fates(Executor::PredictEach predict, const std::vector<int>& inputs,
                               BatchPolicy policy = {}) {
  policy.max_batch_size = inputs.size();
  policy.max_queue_delay = std::chrono::hours(1);  // the batch runs when it is full
  Executor executor(std::move(predict), policy);
  std::vector<std::future<int>> futures;
  for (const int input : inputs) futures.push_back(executor.submit(input));
  std::vector<std::string> result;
  for (auto& future : futures) try {
      result.push_back(std::to_string(future.get()));
    } catch (const BatchError& error) {
      result.emplace_back(to_string(error.code()));
    } catch (const std::exception& error) {
      result.emplace_back(error.what());
    }
  return result;
}

void double_each(std::span<const int> inputs, Outputs& outputs) {
  for (const int input : inputs) {
    if (input < 0) throw std::domain_error("negative");
    outputs.add(2 * input);
  }
}

TEST(BatchPredictEach, AnswersEachInput) {
  EXPECT_THAT(fates(double_each, {1, 2, 3}), testing::ElementsAre("2", "4", "6"));
}

TEST(BatchPredictEach, KeepsOutputsGivenBeforeAnException) {
  EXPECT_THAT(fates(double_each, {1, 2, -3, 4}, {.isolate_failures = false}),
              testing::ElementsAre("2", "4", "negative", "negative"));
}

TEST(BatchPredictEach, FailsOnlyTheBadInputWhenFailuresAreIsolated) {
  std::atomic<int> predictions{0};
  const auto counted = [&](std::span<const int> inputs, Outputs& outputs) {
    ++predictions;
    double_each(inputs, outputs);
  };
  EXPECT_THAT(fates(counted, {1, 2, 3, 4, 5, -6, 7, 8, 9}, {.isolate_failures = true}),
              testing::ElementsAre("2", "4", "6", "8", "10", "negative", "14", "16", "18"));
  EXPECT_EQ(predictions, 3) << "the batch, the bad input by itself, the inputs after it";
}

TEST(BatchPredictEach, KeepsAllOutputsIfItThrowsAfterTheLast) {
  for (const bool isolates : {false, true}) {
    int predictions = 0;
    const auto late = [&](std::span<const int> inputs, Outputs& outputs) {
      if (++predictions == 1) double_each(inputs, outputs);
      throw std::domain_error("late");
    };
    EXPECT_THAT(fates(late, {1}, {.isolate_failures = isolates}), testing::ElementsAre("2"));
    EXPECT_EQ(std::exchange(predictions, 0), 1);
    EXPECT_THAT(fates(late, {1, 2}, {.isolate_failures = isolates}),
                testing::ElementsAre("2", "4"));
    EXPECT_EQ(predictions, 1);
  }
}

TEST(BatchPredictEach, ContinuesBehindAnInputThatThrowsAfterItsOutput) {
  const auto careless = [](std::span<const int> inputs, Outputs& outputs) {
    double_each(inputs, outputs);
    if (inputs.size() < 4) throw std::domain_error("late");
  };
  EXPECT_THAT(fates(careless, {1, -2, 3, 4}, {.isolate_failures = true}),
              testing::ElementsAre("2", "negative", "6", "8"));
}

TEST(BatchPredictEach, FailsInputsWithoutOutputs) {
  const auto lazy = [](std::span<const int> inputs, Outputs& outputs) {
    if (inputs.front() == 1) outputs.add(7);
  };
  for (const bool isolates : {false, true})
    EXPECT_THAT(fates(lazy, {1, 2}, {.isolate_failures = isolates}),
                testing::ElementsAre("7", "batch_result_count"));
}

TEST(BatchPredictEach, FailsAllInputsWhenThereAreTooManyOutputs) {
  const auto generous = [](std::span<const int> inputs, Outputs& outputs) {
    for (std::size_t i = 0; i <= inputs.size(); ++i) outputs.add(7);
  };
  for (const bool isolates : {false, true})
    EXPECT_THAT(fates(generous, {1, 2}, {.isolate_failures = isolates}),
                testing::ElementsAre("batch_result_count", "batch_result_count"));
  const auto careless = [](std::span<const int> inputs, Outputs& outputs) {
    for (std::size_t i = 0; i <= inputs.size(); ++i) try {
        outputs.add(7);
      } catch (const BatchError&) {  // continues as if nothing was thrown
      }
  };
  for (const bool isolates : {false, true})
    EXPECT_THAT(fates(careless, {1, 2}, {.isolate_failures = isolates}),
                testing::ElementsAre("batch_result_count", "batch_result_count"));
}

TEST(BatchPredictEach, CountsAddedOutputs) {
  const auto indexed = [](std::span<const int> inputs, Outputs& outputs) {
    while (outputs.size() < inputs.size()) outputs.add(static_cast<int>(outputs.size()));
  };
  EXPECT_THAT(fates(indexed, {5, 5, 5}), testing::ElementsAre("0", "1", "2"));
}

TEST(BatchPredictEach, RunAllThrowsTheErrorOfTheFirstFailedInput) {
  Executor executor(double_each);
  EXPECT_THROW(executor.run_all({1, -2, 3}), std::domain_error);
  EXPECT_THAT(executor.run_all({1, 2}), testing::ElementsAre(2, 4));
}

}  // namespace
}  // namespace vcap
