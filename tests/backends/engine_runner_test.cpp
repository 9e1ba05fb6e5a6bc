// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backends/engine_conformance.hpp"
#include "support/bounded_wait.hpp"
#include "support/sanitizers.hpp"
#include "vcap/backends/model_runner.hpp"

namespace vcap::test {
namespace {

class ModelRunnerOnEngines : public EngineConformance {};

#if !VCAP_TEST_ADDRESS_SANITIZER  // which keeps what was freed
/// Resident memory of this process in KiB.
std::size_t resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  return 0;
}

TEST_P(ModelRunnerOnEngines, KeepsItsMemoryWithPicturesOfManySizes) {
  const char* const given = std::getenv("VCAP_PICTURES");  // 100000 in the long test
  const int count = given != nullptr ? std::atoi(given) : 2000;
  const TestModel model("scaling_any_size.onnx");
  input.sizes = {{32, 32}, {64, 32}, {128, 32}};
  input.fit = PictureInput::Fit::letterbox_corner;
  ModelRunner runner(engine, model.file(), input, settings);
  std::mt19937 random(1);
  const cv::Mat large = noise(cv::Size(500, 100), 1);
  const auto run_some = [&](int pictures) {
    std::vector<cv::Mat> batch;
    for (int i = 0; i < pictures; i += 20) {
      batch.clear();
      for (int j = 0; j < 20; ++j)
        batch.push_back(large(
            {0, 0, static_cast<int>(random() % 499) + 1, static_cast<int>(random() % 99) + 1}));
      runner.run(batch, [](auto, const auto&) {});
    }
  };
  run_some(1000);
  std::size_t warm = resident();
  run_some(count);
  // A thread of the engine may have begun only now, with memory of its own.
  for (int again = 0; again < 3 && resident() > warm + warm / 50; ++again) {
    warm = resident();
    run_some(count);
  }
  EXPECT_LE(resident(), warm + warm / 50);
}
#endif

TEST_P(ModelRunnerOnEngines, GivesEachPictureItsOwnResultUnderManyCallers) {
  const TestModel model("slow.onnx");
  ModelRunner runner(engine, model.file(), input, settings);
  std::vector<std::future<void>> callers;
  for (unsigned caller = 0; caller < 4; ++caller)
    callers.push_back(std::async(std::launch::async, [&, caller] {
      std::mt19937 random(caller);
      for (int round = 0; round < 10; ++round) {
        std::vector<cv::Mat> pictures;
        for (int i = 0; i < 5; ++i)
          pictures.push_back(cv::Mat(
              cv::Size(64, 64), CV_8UC3,
              cv::Scalar(static_cast<double>(random() % 256), static_cast<double>(random() % 256),
                         static_cast<double>(random() % 256))));
        runner.run(pictures, [&](std::size_t index, const ModelOutputs& outputs) {
          const auto bgr = pictures[index].at<cv::Vec3b>(0, 0);
          const auto values = outputs.at("largest").values;
          EXPECT_THAT(values, testing::ElementsAre(bgr[2], bgr[1], bgr[0]));
        });
      }
    }));
  for (auto& caller : callers) caller.get();
  EXPECT_EQ(runner.counts().pictures, 200u);
  EXPECT_EQ(runner.workload(), 0);
}

TEST_P(ModelRunnerOnEngines, FinishesEachRequestOnceInHundredsOfRounds) {
  const auto compiled = compile(TestModel("plus_one.onnx"));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const auto request = compiled->make_request();
      for (unsigned round = 0; round < 300; ++round) {
        const cv::Mat picture(kPicture, CV_8UC3, cv::Scalar::all((thread * 60 + round) % 256));
        const auto calls = std::make_shared<std::atomic<int>>(0);
        picture.copyTo(request->input());
        const auto done = std::make_shared<std::promise<void>>();
        request->start([&, calls, done](std::exception_ptr error) {
          if (error || ++*calls != 1) ++wrong;
          done->set_value();  // throws if it is called again
        });
        if (done->get_future().wait_for(kLongestWait) != std::future_status::ready) {
          ADD_FAILURE() << "the request of round " << round << " did not finish";
          return;
        }
        if (request->outputs()[0].values[0] != static_cast<float>((thread * 60 + round) % 256 + 1))
          ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

VCAP_INSTANTIATE_FOR_ENGINES(ModelRunnerOnEngines);

}  // namespace
}  // namespace vcap::test
