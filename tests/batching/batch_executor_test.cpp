// SPDX-License-Identifier: Apache-2.0
#include "vcap/batching/batch_executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <opencv2/core.hpp>

#include "batching/expect_batch_error.hpp"
#include "batching/predictor.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using test::expect_batch_error;
using test::Predictor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Doubler = BatchExecutor<int, int>;

std::vector<int> doubled(std::span<const int> inputs) {
  std::vector<int> outputs;
  for (const int input : inputs) outputs.push_back(2 * input);
  return outputs;
}

TEST(BatchExecutor, AnswersASubmittedRequestThroughItsFuture) {
  Doubler executor(doubled);
  EXPECT_EQ(executor.submit(21).get(), 42);
}

TEST(BatchExecutor, ReturnsTheAnswerOfABlockingRequest) {
  Doubler executor(doubled);
  EXPECT_EQ(executor.run(21), 42);
}

TEST(BatchExecutor, AnswersManyInputsInTheirOrder) {
  Doubler executor(doubled, {.max_batch_size = 3});
  EXPECT_THAT(executor.run_all({1, 2, 3, 4, 5, 6, 7}), ElementsAre(2, 4, 6, 8, 10, 12, 14));
}

TEST(BatchExecutor, ScoresImagesOneByOneAndManyAtOnce) {
  const auto scores_of = [](std::span<const cv::Mat> images) {
    std::vector<float> scores;
    for (const cv::Mat& image : images) scores.push_back(static_cast<float>(image.at<uchar>(0)));
    return scores;
  };
  const cv::Mat image(4, 4, CV_8UC1, cv::Scalar(7));
  const std::vector<cv::Mat> crops{image, image(cv::Rect(0, 0, 2, 2))};
  // [three-ways]
  vcap::BatchExecutor<cv::Mat, float> executor(scores_of);

  std::future<float> later = executor.submit(image);       // send_to_batch
  const float now = executor.run(image);                   // predict
  const std::vector<float> all = executor.run_all(crops);  // predict_all: one completion for all
  // [/three-ways]
  EXPECT_EQ(later.get(), 7);
  EXPECT_EQ(now, 7);
  EXPECT_THAT(all, ElementsAre(7, 7));
}

TEST(BatchExecutor, AnswersNoInputsWithNoOutputs) {
  Doubler executor(doubled);
  EXPECT_THAT(executor.run_all({}), SizeIs(0));
}

TEST(BatchExecutor, GivesEachOfManyThreadsItsOwnAnswers) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2500;
  Doubler executor(doubled);
  std::vector<int> wrong(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        std::vector<int> inputs(kEach);
        std::iota(inputs.begin(), inputs.end(), t * kEach);
        std::shuffle(inputs.begin(), inputs.end(), std::mt19937(static_cast<unsigned>(t)));
        std::vector<std::future<int>> futures;
        for (const int input : inputs) futures.push_back(executor.submit(input));
        for (int i = 0; i < kEach; ++i)
          wrong[t] +=
              futures[static_cast<std::size_t>(i)].get() != 2 * inputs[static_cast<std::size_t>(i)];
      });
  }
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(BatchExecutor, GathersRequestsSentDuringAPredictIntoTheNextBatch) {
  Predictor predictor;
  predictor.hold();
  Doubler executor(std::ref(predictor));
  auto first = executor.submit(1);
  predictor.await_batches(1);
  auto second = executor.submit(2);
  auto third = executor.submit(3);
  predictor.release();
  EXPECT_EQ(first.get() + second.get() + third.get(), 12);
  EXPECT_THAT(predictor.batches(), ElementsAre(ElementsAre(1), ElementsAre(2, 3)));
}

TEST(BatchExecutor, NeverMakesABatchLargerThanItsMaximum) {
  Predictor predictor;
  Doubler executor(std::ref(predictor), {.max_batch_size = 7});
  std::vector<int> inputs(100);
  executor.run_all(inputs);
  for (const auto& batch : predictor.batches()) EXPECT_LE(batch.size(), 7u);
}

TEST(BatchExecutor, FailsOnlyTheBatchThatPredictThrewAt) {
  Predictor predictor;
  predictor.hold();
  Doubler executor(
      [&](std::span<const int> inputs) {
        const auto outputs = predictor(inputs);
        if (std::find(inputs.begin(), inputs.end(), 13) != inputs.end())
          throw std::domain_error("thirteen");
        return outputs;
      },
      {.isolate_failures = false});
  auto before = executor.submit(1);
  predictor.await_batches(1);
  auto bad = executor.submit(13);
  auto mate = executor.submit(2);
  predictor.release();
  EXPECT_EQ(before.get(), 2);
  EXPECT_THROW(bad.get(), std::domain_error);
  EXPECT_THROW(mate.get(), std::domain_error);
  EXPECT_EQ(executor.run(4), 8);
}

TEST(BatchExecutor, FailsABatchWithTooFewOutputs) {
  Doubler executor([](std::span<const int> inputs) { return std::vector<int>(inputs.size() - 1); },
                   {.isolate_failures = false});
  expect_batch_error(ErrorCode::batch_result_count, "gave 2 outputs for 3 inputs", [&] {
    executor.run_all({1, 2, 3});
  });
}

TEST(BatchExecutor, FailsABatchWithTooManyOutputs) {
  Doubler executor([](std::span<const int> inputs) { return std::vector<int>(inputs.size() + 1); },
                   {.isolate_failures = false});
  expect_batch_error(ErrorCode::batch_result_count, "gave 4 outputs for 3 inputs", [&] {
    executor.run_all({1, 2, 3});
  });
}

TEST(BatchExecutor, CountsWaitingAndRunningRequestsAsItsWorkload) {
  Predictor predictor;
  predictor.hold();
  Doubler executor(std::ref(predictor));
  EXPECT_EQ(executor.workload(), 0u);
  auto first = executor.submit(1);
  predictor.await_batches(1);
  auto second = executor.submit(2);
  EXPECT_EQ(executor.workload(), 2u);
  predictor.release();
  first.get();
  second.get();
  EXPECT_EQ(executor.workload(), 0u);
}

TEST(BatchExecutor, TakesMoveOnlyInputsAndOutputs) {
  using Box = std::unique_ptr<int>;
  BatchExecutor<Box, Box> executor([](std::span<const Box> inputs) {
    std::vector<Box> outputs;
    for (const Box& input : inputs) outputs.push_back(std::make_unique<int>(*input + 1));
    return outputs;
  });
  EXPECT_EQ(*executor.run(std::make_unique<int>(1)), 2);
  EXPECT_EQ(*executor.submit(std::make_unique<int>(2)).get(), 3);
  std::vector<Box> inputs;
  inputs.push_back(std::make_unique<int>(3));
  EXPECT_EQ(*executor.run_all(std::move(inputs)).front(), 4);
}

TEST(BatchExecutor, SupportsBooleanOutputs) {
  BatchExecutor<int, bool> executor([](std::span<const int> inputs) {
    std::vector<bool> outputs;
    for (const int input : inputs) outputs.push_back(input % 2 == 0);
    return outputs;
  });
  EXPECT_THAT(executor.run_all({1, 2, 4}), ElementsAre(false, true, true));
}

}  // namespace
}  // namespace vcap
