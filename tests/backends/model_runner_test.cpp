// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/model_runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "backends/fake_engine.hpp"
#include "support/bounded_wait.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;

class ModelRunnerTest : public testing::Test {
 protected:
  std::unique_ptr<ModelRunner> make(PerformanceGoal goal = PerformanceGoal::throughput) {
    EngineSettings settings;
    settings.goal = goal;
    return std::make_unique<ModelRunner>(std::make_shared<FakeEngine>(plan), ModelFile{}, input,
                                         settings);
  }
  void TearDown() override {
    EXPECT_EQ(plan->breaches, 0u) << "a request was touched while it ran";
    EXPECT_EQ(plan->in_flight, 0u);
  }

  std::shared_ptr<FakePlan> plan = std::make_shared<FakePlan>();
  PictureInput input;
};

cv::Mat picture_of(int value, cv::Size size = {4, 4}) {
  return {size, CV_8UC3, cv::Scalar::all(value)};
}

/// Pictures of the values 1, 2, …, 200, 1, ….
std::vector<cv::Mat> pictures_of(std::size_t count, cv::Size size = {4, 4}) {
  std::vector<cv::Mat> pictures;
  for (std::size_t i = 0; i < count; ++i)
    pictures.push_back(picture_of(static_cast<int>(i % 200) + 1, size));
  return pictures;
}

TEST_F(ModelRunnerTest, ReadsEachPictureOnceWithItsOwnOutputs) {
  const auto runner = make();
  const auto pictures = pictures_of(500);
  std::vector<int> reads(pictures.size());
  runner->run(pictures, [&](std::size_t index, const ModelOutputs& outputs) {
    ++reads.at(index);
    EXPECT_EQ(outputs.at(0).values[0], static_cast<float>(index % 200 + 1));
    EXPECT_EQ(outputs.at("value").shape_text(), "[1]");
    EXPECT_EQ(outputs.input, cv::Size(4, 4));
    EXPECT_EQ(outputs.picture, cv::Size(4, 4));
    EXPECT_EQ(outputs.map, PictureMap{});
  });
  EXPECT_THAT(reads, testing::Each(1));
  EXPECT_EQ(runner->counts().pictures, 500u);
  EXPECT_EQ(runner->counts().shared, 500u);
  EXPECT_EQ(runner->workload(), 0);
  EXPECT_LE(plan->most_in_flight, plan->requests);
}

TEST_F(ModelRunnerTest, RunsNothingForNoPictures) {
  const auto runner = make();
  runner->run({}, [](auto, const auto&) { FAIL(); });
  EXPECT_EQ(plan->starts, 0u);
}

TEST_F(ModelRunnerTest, CopiesPicturesThatTheEngineDoesNotShareAndGivesTheWayBack) {
  input.fit = PictureInput::Fit::letterbox;
  const auto runner = make();
  const std::vector<cv::Mat> pictures{picture_of(7, {8, 4})};
  runner->run(pictures, [](std::size_t, const ModelOutputs& outputs) {
    EXPECT_EQ(outputs.at(0).values[0], 0);  // padding
    EXPECT_EQ(outputs.picture, cv::Size(8, 4));
    EXPECT_EQ(outputs.map.to_frame(cv::Point2d(0, 1)), cv::Point2d(0, 0));
    EXPECT_EQ(outputs.map.to_frame(cv::Point2d(4, 3)), cv::Point2d(8, 4));
  });
  EXPECT_EQ(runner->counts().shared, 0u);
}

TEST_F(ModelRunnerTest, RunsSinglePicturesWithTheSameResultsAndErrors) {
  plan->fail_start = 50;
  plan->fail_done = 60;
  for (const auto goal : {PerformanceGoal::throughput, PerformanceGoal::latency}) {
    const auto runner = make(goal);
    const auto pictures = pictures_of(200);
    std::atomic<std::size_t> next{0}, read{0}, failed{0};
    std::vector<std::future<void>> callers;
    for (int caller = 0; caller < 8; ++caller)
      callers.push_back(std::async(std::launch::async, [&] {
        for (std::size_t i = next++; i < pictures.size(); i = next++) try {
            runner->run({&pictures[i], 1}, [&](std::size_t index, const ModelOutputs& outputs) {
              EXPECT_EQ(index, 0u);
              EXPECT_EQ(outputs.at(0).values[0], static_cast<float>(i + 1));
              ++read;
            });
          } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), i + 1 == 50 ? "start 50" : "done 60");
            ++failed;
          }
      }));
    for (auto& caller : callers) caller.get();
    EXPECT_EQ(read, 198u);
    EXPECT_EQ(failed, 2u);
    EXPECT_EQ(runner->workload(), 0);
    EXPECT_EQ(runner->counts().pictures, 200u);
    EXPECT_LE(plan->most_in_flight, plan->requests);
  }
}

TEST_F(ModelRunnerTest, ThrowsWhatTheFirstFailedPictureThrewAndReturnsAllRequests) {
  plan->fail_start = 150;
  plan->fail_done = 120;
  const auto runner = make();
  const auto pictures = pictures_of(200);
  for (int round = 0; round < 50; ++round) {
    try {
      runner->run(pictures, [](auto, const auto&) {});
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "done 120");
    }
    EXPECT_EQ(runner->workload(), 0);
    EXPECT_EQ(plan->in_flight, 0u);
  }
  // All four are free: as many as that are in flight at once.
  plan->fail_start = plan->fail_done = 0;
  plan->most_in_flight = 0;
  plan->hold();
  auto all =
      std::async(std::launch::async, [&] { runner->run(pictures, [](auto, const auto&) {}); });
  EXPECT_TRUE(plan->wait_for_in_flight(plan->requests));
  plan->release();
  all.get();
}

TEST_F(ModelRunnerTest, ThrowsWhatReadThrewForTheFirstPicture) {
  const auto runner = make();
  const auto pictures = pictures_of(100);
  for (int round = 0; round < 50; ++round) {
    std::size_t first = 1000;
    try {
      runner->run(pictures, [&](std::size_t index, const ModelOutputs&) {
        if (index % 30 != 29) return;
        first = std::min(first, index);
        throw index;
      });
      FAIL() << "nothing was thrown";
    } catch (std::size_t index) {
      EXPECT_EQ(index, first);
      EXPECT_LT(index, 60u);
    }
    EXPECT_EQ(runner->workload(), 0);
  }
}

TEST_F(ModelRunnerTest, RefusesAPictureThatCannotBeAnInput) {
  const auto runner = make();
  for (const cv::Mat& bad :
       {cv::Mat(), cv::Mat(4, 4, CV_32FC3, cv::Scalar(1)), cv::Mat(4, 4, CV_8UC2, cv::Scalar(1)),
        cv::Mat(std::vector<int>{4, 4, 4}, CV_8UC3, cv::Scalar(1))}) {
    const std::vector<cv::Mat> pictures{picture_of(1), bad, picture_of(2)};
    EXPECT_THAT([&] { runner->run(pictures, [](auto, const auto&) {}); },
                ThrowsError<EngineError>(ErrorCode::model_input, testing::HasSubstr("8-bit")));
    EXPECT_EQ(runner->workload(), 0);
  }
}

TEST_F(ModelRunnerTest, StartsASecondCallWhileTheLastRequestsOfTheFirstRun) {
  const auto runner = make();
  plan->hold();
  const auto read = [](auto, const auto&) {};
  const auto three = pictures_of(3), five = pictures_of(5);
  auto first = std::async(std::launch::async, [&] { runner->run(three, read); });
  ASSERT_TRUE(plan->wait_for_in_flight(3));
  auto second = std::async(std::launch::async, [&] { runner->run(five, read); });
  EXPECT_TRUE(plan->wait_for_in_flight(4));  // the pool's last request
  EXPECT_EQ(first.wait_for(0s), std::future_status::timeout);
  EXPECT_EQ(runner->workload(), 1.0);  // as many as keep the device busy
  plan->release();
  first.get();
  second.get();
  EXPECT_EQ(runner->workload(), 0);
}

TEST_F(ModelRunnerTest, GivesEachOfManyCallsItsOwnResultsInThousandsOfRandomRounds) {
  plan->fail_start = 198;
  plan->fail_done = 199;
  input.sizes = {{4, 4}, {6, 6}, {8, 8}};
  const auto runner = make();
  std::atomic<std::size_t> failures{0}, read_pictures{0};
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      std::mt19937 random(caller);
      for (int round = 0; round < 1500; ++round) {
        const std::size_t count = random() % 9;
        std::vector<cv::Mat> pictures;
        std::vector<int> values, reads(count);
        for (std::size_t i = 0; i < count; ++i) {
          const int side = static_cast<int>(random() % 9) + 1;
          values.push_back(static_cast<int>(random() % 199) + 1);
          pictures.push_back(picture_of(values.back(), {side, side}));
        }
        const auto bad = std::ranges::find_if(values, [](int value) { return value > 197; });
        std::string error;
        try {
          runner->run(pictures, [&](std::size_t index, const ModelOutputs& outputs) {
            ++reads.at(index);
            if (outputs.at(0).values[0] != static_cast<float>(values[index])) ++plan->breaches;
          });
        } catch (const std::runtime_error& why) {
          error = why.what();
        }
        if (bad == values.end()) {
          if (!error.empty() || !std::ranges::all_of(reads, [](int n) { return n == 1; }))
            ++plan->breaches;
          read_pictures += count;
        } else {
          ++failures;
          if (error != (*bad == 198 ? "start 198" : "done 199")) ++plan->breaches;
          if (std::ranges::any_of(reads, [](int n) { return n > 1; })) ++plan->breaches;
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(failures, 0u);
  EXPECT_GT(read_pictures, 10000u);
  EXPECT_EQ(runner->workload(), 0);
  EXPECT_LE(plan->compiled, 3u);
}

TEST_F(ModelRunnerTest, CompilesAtMostOneModelForEachSizeHoweverManySizesPicturesHave) {
  input.sizes = {{8, 8}, {16, 8}, {32, 8}, {64, 8}};
  input.fit = PictureInput::Fit::letterbox_corner;
  plan->shares = false;
  const auto runner = make();
  EXPECT_EQ(plan->compiled, 1u);  // the first, at once
  std::mt19937 random(1);
  std::vector<cv::Mat> pictures;
  const cv::Mat large(300, 2000, CV_8UC3, cv::Scalar::all(9));
  std::size_t reads = 0;
  for (int round = 0; round < 1000; ++round) {
    pictures.clear();
    for (int i = 0; i < 100; ++i)
      pictures.push_back(
          large({0, 0, static_cast<int>(random() % 200) + 1, static_cast<int>(random() % 30) + 1}));
    runner->run(pictures, [&](std::size_t index, const ModelOutputs& outputs) {
      ++reads;
      EXPECT_EQ(outputs.input,
                input.sizes[choose_size(input.sizes, pictures[index].size(), input.fit)]);
    });
  }
  EXPECT_EQ(reads, 100000u);
  EXPECT_EQ(plan->compiled, 4u);
}

TEST_F(ModelRunnerTest, TriesAgainToCompileASizeThatFailed) {
  input.sizes = {{4, 4}, {8, 8}};
  const auto runner = make();
  plan->fail_compiles = 1;
  const std::vector<cv::Mat> large{picture_of(1, {8, 8})}, small{picture_of(2)};
  EXPECT_THROW(runner->run(large, [](auto, const auto&) {}), std::runtime_error);
  EXPECT_NO_THROW(runner->run(small, [](auto, const auto&) {}));
  EXPECT_NO_THROW(runner->run(large, [](auto, const auto&) {}));
  EXPECT_EQ(runner->workload(), 0);
}

TEST_F(ModelRunnerTest, TellsTheBatchPolicyHowManyWorkersKeepTheDeviceBusy) {
  plan->requests = 7;
  const auto runner = make();
  const BatchPolicy policy = runner->batch_policy();
  EXPECT_EQ(policy.max_batch_size, 1u);
  EXPECT_EQ(policy.workers, 7u);
  EXPECT_NO_THROW(validate(policy));
  EXPECT_EQ(runner->input_size(), cv::Size(4, 4));
}

TEST_F(ModelRunnerTest, AsksForNoMoreWorkersThanRequestsThatRunOnTheHostsCores) {
  plan->requests = 7;
  plan->parallel_requests = 5;
  EXPECT_EQ(make()->batch_policy().workers, 7u) << "two workers prepare the next pictures";
  plan->runs_on_host = true;
  EXPECT_EQ(make()->batch_policy().workers, 5u);
}

TEST_F(ModelRunnerTest, RefusesAWrongInputBeforeItCompiles) {
  input.scale = {0};
  EXPECT_THROW(make(), EngineError);
  EXPECT_EQ(plan->compiled, 0u);
}

TEST_F(ModelRunnerTest, WaitsAtMostOneTurnForAModelThatHangs) {
  const auto hanging = make();
  const auto pictures = pictures_of(8);
  plan->hold();
  auto call =
      std::async(std::launch::async, [&] { hanging->run(pictures, [](auto, const auto&) {}); });
  ASSERT_TRUE(plan->wait_for_in_flight(4));
  const auto others = std::make_shared<FakePlan>();
  for (const auto goal : {PerformanceGoal::throughput, PerformanceGoal::latency}) {
    EngineSettings settings;
    settings.goal = goal;
    ModelRunner other(std::make_shared<FakeEngine>(others), ModelFile{}, input, settings);
    std::size_t read = 0;
    for (int round = 0; round < 10; ++round)
      other.run(std::span(pictures).first(round % 2 == 0 ? 1 : 8),
                [&](auto, const auto&) { ++read; });
    EXPECT_EQ(read, 45u);
    EXPECT_EQ(call.wait_for(0s), std::future_status::timeout);
  }
  plan->release();
  call.get();
}

TEST_F(ModelRunnerTest, SharesADeviceBetweenModelsInThousandsOfRandomRounds) {
  plan->fail_start = 198;
  plan->fail_done = 199;
  std::vector<std::unique_ptr<ModelRunner>> runners;
  for (int i = 0; i < 3; ++i) runners.push_back(make());
  runners.push_back(make(PerformanceGoal::latency));
  std::atomic<std::size_t> failures{0};
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      std::mt19937 random(caller);
      for (int round = 0; round < 1000; ++round) {
        const std::vector<cv::Mat> pictures(random() % 3 + 1,
                                            picture_of(static_cast<int>(random() % 199) + 1));
        const int value = pictures[0].at<cv::Vec3b>(0, 0)[0];
        std::size_t reads = 0;
        try {
          runners[random() % runners.size()]->run(pictures, [&](auto, const auto& outputs) {
            ++reads;
            if (outputs.at(0).values[0] != static_cast<float>(value)) ++plan->breaches;
          });
          if (reads != pictures.size() || value > 197) ++plan->breaches;
        } catch (const std::runtime_error&) {
          if (reads > 0 || value < 198) ++plan->breaches;
          ++failures;
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(failures, 0u);
  for (const auto& runner : runners) EXPECT_EQ(runner->workload(), 0);
}

}  // namespace
}  // namespace vcap::test
