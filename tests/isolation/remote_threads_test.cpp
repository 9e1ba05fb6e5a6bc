// SPDX-License-Identifier: Apache-2.0
// Tests of what belongs to the threads of calls, of batches, and of calls at any time.
#include <fenv.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "batching/batch_observer.hpp"
#include "capsule/current_capsule.hpp"
#include "isolation/counting_capsule.hpp"
#include "isolation/observed_call.hpp"
#include "isolation/remote_fixtures.hpp"
#include "support/bounded_wait.hpp"
#include "vcap/base/error.hpp"
#include "vcap/batching/batch_stream_scope.hpp"
#include "vcap/capsule/base_backend.hpp"

namespace vcap::test {
namespace {

TEST(RemoteThreads, HasTheStreamAndTheFloatingPointModesOfItsCaller) {
  std::uint64_t stream = 0;
  int rounding = 0;
  int later = 0;
  const auto capsule = remote(detector_info(), [&](const Frame& frame, auto&&...) {
    stream = BatchStreamScope::current();
    (frame.index == 0 ? rounding : later) = ::fegetround();
    EXPECT_EQ(current_capsule(), "capsule detector_fake");
    return DetectionNodes::all();
  });
  ::fesetround(FE_UPWARD);
  capsule->process_frame(frame_at(0), {}, {}, "gate");
  ::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(stream, (BatchStreamScope("gate"), BatchStreamScope::current()));
  capsule->process_frame(frame_at(1));
  EXPECT_EQ(later, FE_TONEAREST);
}

/// Sends the index in a batch, and waits until the test lets the first batch go on.
class Batching final : public BaseBackend<std::int64_t, std::int64_t> {
 public:
  explicit Batching(std::function<void(std::size_t)> on_batch) : on_batch_(std::move(on_batch)) {}
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    return DetectionNodes::all(
        {{.name = "person", .extra_data = {{"result", predict(frame.index)}}}});
  }
  std::vector<std::int64_t> batch_predict(std::span<const std::int64_t> inputs) override {
    on_batch_(inputs.size());
    std::vector<std::int64_t> outputs;
    for (const std::int64_t input : inputs) outputs.push_back(2 * input);
    return outputs;
  }

 private:
  const std::function<void(std::size_t)> on_batch_;
};

std::unique_ptr<Capsule> batching(std::function<void(std::size_t)> on_batch) {
  return remote(detector_info(),
                author_of([on_batch](auto&&...) { return std::make_unique<Batching>(on_batch); }));
}

std::int64_t predicted(Capsule& capsule, std::int64_t index) {
  return capsule.process_frame(frame_at(index))[0].extra_data["result"].get<std::int64_t>();
}

TEST(RemoteThreads, GathersRequestsOfConcurrentCallsInBatches) {
  constexpr int kFrames = 8;
  Latch release;
  std::atomic<std::size_t> largest = 0;
  std::atomic<int> batches = 0;
  const auto capsule = batching([&](std::size_t size) {
    largest = std::max(largest.load(), size);
    if (++batches == 1) release.wait("the release of the first batch");
  });
  std::vector<std::jthread> threads;
  for (int i = 0; i < kFrames; ++i)
    threads.emplace_back([&capsule, i] { EXPECT_EQ(predicted(*capsule, i), 2 * i); });
  yield_until("all requests", [&] {
    const auto statistics = capsule->backends().front().batches;
    return statistics && statistics->accepted == kFrames;
  });
  yield_until("the workload", [&] { return capsule->workload() >= kFrames; });
  release.open();
  threads.clear();
  EXPECT_GE(largest, 4u);
  yield_until("all answers", [&] {
    const auto statistics = capsule->backends().front().batches;
    return statistics && statistics->answered == kFrames;
  });
}

/// Counts the batches that begin and end.
class CountingObserver final : public detail::BatchObserver {
 public:
  std::size_t begin(std::size_t items) noexcept override {
    items_ += items;
    return 1000 + begun_++;
  }
  void end(std::size_t batch) noexcept override {
    if (batch >= 1000) ++ended_;
  }
  std::size_t items() const { return items_; }
  std::size_t ended() const { return ended_; }

 private:
  std::atomic<std::size_t> items_ = 0, begun_ = 0, ended_ = 0;
};

TEST(RemoteThreads, ReportsItsBatchesToTheObserverOfTheCall) {
  const auto capsule = batching([](std::size_t) {});
  const auto observer = std::make_shared<CountingObserver>();
  ObservedCall call(observer);
  for (int i = 0; i < 3; ++i) {
    const detail::CallObserverScope observed(call);
    predicted(*capsule, i);
  }
  predicted(*capsule, 3);
  EXPECT_EQ(observer->items(), 3u);
  yield_until("the end of the batches", [&] { return observer->ended() == 3; });
}

/// A backend whose workload hangs while the test says so.
class HangingCapsule : public testing::Test {
 protected:
  std::unique_ptr<Capsule> load() {
    return remote(detector_info(), author_of([this](auto&&...) {
                    auto backend = std::make_unique<FakeBackend>();
                    backend->load = [this] {
                      ++asked_;
                      if (hangs_) release_.wait("the end of the test");
                      EXPECT_FALSE(is_closed_) << "no call follows";
                      return 3.5;
                    };
                    backend->on_close = [this] { is_closed_ = true; };
                    return backend;
                  }));
  }

  std::atomic<bool> hangs_ = false, is_closed_ = false;
  std::atomic<int> asked_ = 0;
  Latch release_;
};

TEST_F(HangingCapsule, IsAskedForItsWorkloadOnlyBrieflyAndOnce) {
  const auto capsule = load();
  yield_until("the workload", [&] { return capsule->workload() == 3.5; });
  hangs_ = true;
  const int before = asked_;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(capsule->workload(), 3.5) << "the last that was known";
  EXPECT_LE(asked_, before + 1) << "one hangs, and no other begins";
  release_.open();
}

TEST_F(HangingCapsule, IsClosedOnlyWhenNoCallIsInProgress) {
  const auto capsule = load();
  hangs_ = true;
  static_cast<void>(capsule->workload());
  ASSERT_EQ(asked_, 1);
  std::jthread closing([&] { capsule->close(); });
  yield_until("the close to begin", [&] {
    try {
      capsule->process_frame(frame_at(0));
      return false;
    } catch (const BatchError&) {
      return true;
    }
  });
  EXPECT_FALSE(is_closed_);
  release_.open();
  closing.join();
  EXPECT_TRUE(is_closed_);
}

TEST(RemoteThreads, AnswersEveryCallWhileStreamsComeAndGoAndItIsClosed) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr int kThreads = 4;
  for (int round = 0; round < 20; ++round) {
    const auto capsule = remote(counting_info(), count);
    std::atomic<int> answered = 0;
    std::atomic<int> refused = 0;
    constexpr int kFrames = 50;
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        std::mt19937 random(seed + static_cast<unsigned>(1000 * round + i));
        for (int frame = 0; frame < kFrames; ++frame) {
          const std::string stream(1, static_cast<char>('a' + random() % 3));
          try {
            counted_by(*capsule, stream, frame);
            ++answered;
          } catch (const BatchError& error) {
            EXPECT_EQ(error.code(), ErrorCode::closed);
            ++refused;
          }
          if (random() % 10 == 0) capsule->clean_up(stream);
          if (random() % 10 == 0) static_cast<void>(capsule->backends());
        }
      });
    std::mt19937 random(seed + static_cast<unsigned>(round));
    const int some = static_cast<int>(random() % (kThreads * kFrames));
    yield_until("some answers", [&] { return answered + refused >= some; });
    if (round % 2 == 1) capsule->close();
    threads.clear();
    EXPECT_EQ(answered + refused, kThreads * kFrames);
  }
  EXPECT_EQ(CountingState::alive, 0);
}

}  // namespace
}  // namespace vcap::test
