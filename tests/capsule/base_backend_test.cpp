// SPDX-License-Identifier: Apache-2.0
// Tests of backends with batches, in a capsule.
#include "vcap/capsule/base_backend.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/bounded_wait.hpp"
#include "vcap/batching/batch_stream_scope.hpp"

namespace vcap {
namespace {

using test::author_of;
using test::detector_info;
using test::frame_at;
using testing::ElementsAre;

/// Doubles the frame's index in a batch. A test may replace `send` and `on_batch`.
class DoublingBackend final : public BaseBackend<std::int64_t, std::int64_t> {
 public:
  std::function<std::vector<std::int64_t>(DoublingBackend&, std::int64_t)> send =
      [](DoublingBackend& self, std::int64_t index) {
        return std::vector<std::int64_t>{self.predict(index)};
      };
  std::function<void(std::span<const std::int64_t>)> on_batch = [](auto) {};

  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    DetectionNodes nodes = DetectionNodes::all();
    for (const std::int64_t result : send(*this, frame.index))
      nodes.add({.name = "person", .extra_data = {{"result", result}}});
    return nodes;
  }
  std::vector<std::int64_t> batch_predict(std::span<const std::int64_t> inputs) override {
    on_batch(inputs);
    std::vector<std::int64_t> outputs;
    for (const std::int64_t input : inputs) outputs.push_back(2 * input);
    return outputs;
  }
};

std::unique_ptr<Capsule> doubling(std::function<void(DoublingBackend&)> prepare) {
  return test::kept_capsule_of(detector_info(),
                               author_of([prepare](const CapsuleFiles&, const std::string&) {
                                 auto backend = std::make_unique<DoublingBackend>();
                                 prepare(*backend);
                                 return backend;
                               }),
                               Capsule::Setup{.devices = {"CPU:0"}});
}

std::vector<std::int64_t> results(Capsule& capsule, std::int64_t index) {
  std::vector<std::int64_t> values;
  for (const DetectionNode& node : capsule.process_frame(frame_at(index)))
    values.push_back(node.extra_data["result"].get<std::int64_t>());
  return values;
}

TEST(BaseBackend, GivesTheOutputOfAPrediction) {
  EXPECT_THAT(results(*doubling([](DoublingBackend&) {}), 21), ElementsAre(42));
}

TEST(BaseBackend, GivesOutputsThroughFutures) {
  const auto capsule = doubling([](DoublingBackend& backend) {
    backend.send = [](DoublingBackend& self, std::int64_t index) {
      auto first = self.send_to_batch(index);
      auto second = self.send_to_batch(index + 1);
      return std::vector<std::int64_t>{first.get(), second.get()};
    };
  });

  EXPECT_THAT(results(*capsule, 5), ElementsAre(10, 12));
}

TEST(BaseBackend, GivesAllOutputsOfAFrameInOrder) {
  const auto capsule = doubling([](DoublingBackend& backend) {
    backend.send = [](DoublingBackend& self, std::int64_t index) {
      return self.predict_all({index, index + 1, index + 2});
    };
  });

  EXPECT_THAT(results(*capsule, 5), ElementsAre(10, 12, 14));
}

TEST(BaseBackend, GathersTheRequestsOfSeveralFramesAndCountsThemAsWorkload) {
  constexpr int kFrames = 4;
  test::Latch first_batch_runs;
  test::Latch release;
  std::atomic<std::size_t> largest = 0;
  const auto capsule = doubling([&](DoublingBackend& backend) {
    backend.on_batch = [&](std::span<const std::int64_t> inputs) {
      largest = std::max(largest.load(), inputs.size());
      if (inputs.front() != 0) return;
      first_batch_runs.open();
      release.wait("the release of the first batch");
    };
  });
  {
    std::vector<std::future<void>> frames;
    const auto send = [&](int index) {
      frames.push_back(std::async(std::launch::async, [&, index] { results(*capsule, index); }));
    };
    send(0);
    first_batch_runs.wait("the first batch");
    for (int i = 1; i <= kFrames; ++i) send(i);
    // Each frame counts twice: as a call in progress, and as a request in the backend.
    test::yield_until("the requests of all frames",
                      [&] { return capsule->workload() >= 2 * (kFrames + 1); });
    release.open();
    for (auto& frame : frames) EXPECT_NO_THROW(frame.get());
  }

  EXPECT_EQ(largest, static_cast<std::size_t>(kFrames));
  EXPECT_EQ(capsule->workload(), 0);
}

TEST(BaseBackend, FailsTheFramesOfABatchThatThrows) {
  const auto capsule = doubling([](DoublingBackend& backend) {
    backend.on_batch = [](std::span<const std::int64_t> inputs) {
      if (inputs.front() == 7) throw std::domain_error("frame 7");
    };
  });

  EXPECT_THROW(results(*capsule, 7), std::domain_error);
  EXPECT_THAT(results(*capsule, 8), ElementsAre(16));
}

TEST(BaseBackend, FailsOnlyTheStreamWhoseInputMakesABatchOfAllStreamsFail) {
  constexpr std::int64_t kPoison = 3;
  test::Latch first_batch_runs;
  test::Latch release;
  std::atomic<std::size_t> largest = 0;
  const auto capsule = doubling([&](DoublingBackend& backend) {
    backend.on_batch = [&](std::span<const std::int64_t> inputs) {
      largest = std::max(largest.load(), inputs.size());
      if (inputs.front() == 0) {
        first_batch_runs.open();
        release.wait("the release of the first batch");
      }
      if (std::ranges::find(inputs, kPoison) != inputs.end()) throw std::domain_error("poison");
    };
  });
  std::vector<std::future<std::int64_t>> answers;
  const auto send = [&](std::int64_t index) {
    answers.push_back(std::async(std::launch::async, [&, index] {
      const std::string stream = "stream " + std::to_string(index);
      const DetectionNodes nodes = capsule->process_frame(frame_at(index), {}, {}, stream);
      return nodes[0].extra_data["result"].get<std::int64_t>();
    }));
  };
  send(0);
  first_batch_runs.wait("the first batch");
  for (std::int64_t index = 1; index <= 5; ++index) send(index);
  test::yield_until("the requests of all streams", [&] { return capsule->workload() >= 2 * 6; });
  release.open();

  for (std::int64_t index = 0; index <= 5; ++index) {
    auto& answer = answers[static_cast<std::size_t>(index)];
    if (index == kPoison)
      EXPECT_THROW(answer.get(), std::domain_error);
    else
      EXPECT_EQ(answer.get(), 2 * index);
  }
  EXPECT_EQ(largest, 5u) << "they shared a batch";
}

TEST(BaseBackend, AnswersAcceptedRequestsWhenItsCapsuleCloses) {
  std::future<std::int64_t> left_behind;
  const auto capsule = doubling([&](DoublingBackend& backend) {
    backend.send = [&](DoublingBackend& self, std::int64_t index) {
      left_behind = self.send_to_batch(index);
      return std::vector<std::int64_t>();
    };
  });
  results(*capsule, 3);

  capsule->close();

  EXPECT_EQ(left_behind.get(), 6);
}

TEST(BaseBackend, SendsRequestsForTheStreamOfTheFrame) {
  std::vector<std::uint64_t> seen;
  const auto capsule = doubling([&](DoublingBackend& backend) {
    backend.send = [&](DoublingBackend&, std::int64_t) {
      seen.push_back(BatchStreamScope::current());
      return std::vector<std::int64_t>();
    };
  });

  for (const char* stream : {"a", "b", "a"}) capsule->process_frame(frame_at(0), {}, {}, stream);

  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_EQ(BatchStreamScope::current(), 0u);
}

/// Gives outputs one by one, up to the first negative input.
class StreamingBackend final : public BaseStreamingBackend<std::int64_t, std::int64_t> {
 public:
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    std::vector<std::future<std::int64_t>> sent;
    for (const std::int64_t input : {frame.index, -frame.index, frame.index})
      sent.push_back(send_to_batch(input));
    DetectionNodes nodes = DetectionNodes::all();
    for (auto& future : sent) try {
        nodes.add({.name = "person", .extra_data = {{"result", future.get()}}});
      } catch (const std::domain_error&) {
        nodes.add({.name = "person", .extra_data = {{"result", 0}}});
      }
    return nodes;
  }
  void batch_predict_each(std::span<const std::int64_t> inputs,
                          BatchOutputs<std::int64_t>& outputs) override {
    for (const std::int64_t input : inputs) {
      if (input < 0) throw std::domain_error("negative");
      outputs.add(2 * input);
    }
  }
  std::uint64_t batch_key(const std::int64_t& input) const override { return input < 0 ? 1 : 0; }
};

TEST(BaseStreamingBackend, AnswersInputsOneByOneAndKeepsKeysApart) {
  Capsule capsule =
      test::capsule_of(detector_info(), author_of([](const CapsuleFiles&, const std::string&) {
                         return std::make_unique<StreamingBackend>();
                       }),
                       Capsule::Setup{.devices = {"CPU:0"}});
  EXPECT_THAT(results(capsule, 7), ElementsAre(14, 0, 14));
}

TEST(BaseStreamingBackend, AnswersAWholeBatchToo) {
  StreamingBackend backend;
  const std::vector<std::int64_t> inputs{1, 2};
  EXPECT_THAT(backend.batch_predict(inputs), ElementsAre(2, 4));
}

TEST(BaseBackend, CountsItsBatches) {
  DoublingBackend backend;
  EXPECT_EQ(backend.predict(3), 6);
  backend.drain();
  EXPECT_EQ(backend.batch_statistics()->answered, 1u);
  EXPECT_EQ(backend.batch_statistics()->batch_sizes.count(), 1u);
}

}  // namespace
}  // namespace vcap
