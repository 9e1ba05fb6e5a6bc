// SPDX-License-Identifier: Apache-2.0
// How a capsule behaves under calls from many threads. Run under ThreadSanitizer too.
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/bounded_wait.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap {
namespace {

using test::author_of;
using test::detector_info;
using test::FakeBackend;
using test::frame_at;
using test::Latch;
using test::make_capsule;
using test::Meeting;
using test::yield_until;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// Has no lock of its own. A race here is an error in the capsule, which ThreadSanitizer finds.
struct UnguardedState final : BaseStreamState {
  std::vector<std::int64_t> seen;
};

CapsuleInfo stateful_info() {
  CapsuleInfo info = detector_info();
  info.stream_state = make_stream_state<UnguardedState>();
  return info;
}

TEST(CapsuleThreads, GiveEachStreamItsFramesOneAtATimeInOrder) {
  constexpr int kStreams = 4;
  constexpr int kFrames = 500;
  const auto capsule = make_capsule(
      stateful_info(),
      [](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        auto& seen = dynamic_cast<UnguardedState&>(state).seen;
        seen.push_back(frame.index);
        return DetectionNodes::all(
            {{.name = "person", .extra_data = {{"before", seen.size() - 1}}}});
      },
      {"GPU:0", "GPU:1"});
  std::atomic<int> out_of_order = 0;
  {
    std::vector<std::jthread> threads;
    for (int stream = 0; stream < kStreams; ++stream)
      threads.emplace_back([&, id = "stream" + std::to_string(stream)] {
        for (int i = 0; i < kFrames; ++i)
          if (capsule->process_frame(frame_at(i), {}, {}, id)[0].extra_data["before"] != i)
            ++out_of_order;
      });
  }

  EXPECT_EQ(out_of_order, 0);
  EXPECT_EQ(capsule->stream_count(), 4u);
}

TEST(CapsuleThreads, NeverShareAStreamsState) {
  constexpr int kThreads = 8;
  constexpr int kFrames = 200;
  std::atomic<int> inside = 0;
  std::atomic<int> overlaps = 0;
  std::atomic<std::size_t> most = 0;
  const auto capsule = make_capsule(
      stateful_info(),
      [&](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        if (inside.fetch_add(1) != 0) ++overlaps;
        auto& seen = dynamic_cast<UnguardedState&>(state).seen;
        seen.push_back(frame.index);
        most = seen.size();
        inside.fetch_sub(1);
        return DetectionNodes::all();
      },
      {"GPU:0", "GPU:1"});
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&] {
        for (int i = 0; i < kFrames; ++i) capsule->process_frame(frame_at(i), {}, {}, "one");
      });
  }

  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(most, static_cast<std::size_t>(kThreads * kFrames));
}

TEST(CapsuleThreads, RunFramesOfAStatelessStreamAtOnce) {
  constexpr int kThreads = 3;
  Meeting all_inside(kThreads);
  const auto capsule = make_capsule(
      detector_info(), [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
        all_inside.arrive_and_wait("the other frames of the stream");
        return DetectionNodes::all();
      });

  std::vector<std::future<void>> frames;
  for (int i = 0; i < kThreads; ++i)
    frames.push_back(std::async(std::launch::async,
                                [&, i] { capsule->process_frame(frame_at(i), {}, {}, "one"); }));
  for (auto& frame : frames) EXPECT_NO_THROW(frame.get());
}

TEST(CapsuleThreads, RunFramesOfDifferentStatefulStreamsAtOnce) {
  constexpr int kStreams = 3;
  Meeting all_inside(kStreams);
  const auto capsule = make_capsule(
      stateful_info(), [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
        all_inside.arrive_and_wait("frames of the other streams");
        return DetectionNodes::all();
      });

  std::vector<std::future<void>> frames;
  for (int i = 0; i < kStreams; ++i)
    frames.push_back(std::async(std::launch::async, [&, i] {
      capsule->process_frame(frame_at(0), {}, {}, std::to_string(i));
    }));
  for (auto& frame : frames) EXPECT_NO_THROW(frame.get());
}

TEST(CapsuleThreads, MayCleanUpStreamsWhoseFramesRun) {
  constexpr int kRounds = 300;
  const auto capsule = make_capsule(
      stateful_info(),
      [](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        dynamic_cast<UnguardedState&>(state).seen.push_back(frame.index);
        return DetectionNodes::all();
      });
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 3; ++thread)
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) capsule->process_frame(frame_at(i), {}, {}, "one");
      });
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) capsule->clean_up("one");
    });
  }
  capsule->clean_up("one");

  EXPECT_EQ(capsule->stream_count(), 0u);
}

TEST(CapsuleThreads, FinishAFrameOnItsOldStateAfterACleanUp) {
  Latch entered;
  Latch cleaned;
  const auto capsule = make_capsule(
      stateful_info(),
      [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        entered.open();
        cleaned.wait("the clean-up");
        dynamic_cast<UnguardedState&>(state).seen.push_back(0);  // freed memory if it was dropped
        return DetectionNodes::all();
      });
  auto frame =
      std::async(std::launch::async, [&] { capsule->process_frame(frame_at(0), {}, {}, "one"); });
  entered.wait("the frame in its backend");

  capsule->clean_up("one");
  EXPECT_EQ(capsule->stream_count(), 0u);
  cleaned.open();
  EXPECT_NO_THROW(frame.get());
}

/// Two or more GPUs whose calls are counted and can be held.
class BusyCapsule : public testing::Test {
 protected:
  void load(std::map<std::string, double> workloads) {
    std::vector<std::string> devices;
    for (const auto& [device, workload] : workloads) devices.push_back(device);
    capsule_ = test::kept_capsule_of(
        detector_info(),
        author_of([this, workloads](const CapsuleFiles&, const std::string& device) {
          auto backend = std::make_unique<FakeBackend>();
          backend->load = [workload = workloads.at(device)] { return workload; };
          backend->process = [this, device](const Frame& frame, DetectionNodes, const OptionValues&,
                                            BaseStreamState&) {
            note(device);
            if (frame.index == kHeld) {
              held_.open();
              release_.wait("the release of the held frame");
            }
            return DetectionNodes::all();
          };
          return backend;
        }),
        Capsule::Setup{.devices = devices});
  }
  void note(const std::string& device) {
    const std::lock_guard lock(mutex_);
    used_.push_back(device);
  }

  static constexpr std::int64_t kHeld = 1000;  ///< the index of frames that wait for release_
  std::mutex mutex_;
  std::vector<std::string> used_;  ///< device of each call, in order
  Latch held_;
  Latch release_;
  std::unique_ptr<Capsule> capsule_;
};

TEST_F(BusyCapsule, ChoosesTheBackendWithTheLeastWorkload) {
  load({{"GPU:0", 3}, {"GPU:1", 1}, {"GPU:2", 2}});

  capsule_->process_frame(frame_at(0));
  capsule_->process_frame(frame_at(1));

  EXPECT_THAT(used_, ElementsAre("GPU:1", "GPU:1"));
}

TEST_F(BusyCapsule, ChoosesEquallyIdleBackendsInTurn) {
  load({{"GPU:0", 0}, {"GPU:1", 0}, {"GPU:2", 0}});

  for (int i = 0; i < 4; ++i) capsule_->process_frame(frame_at(i));

  EXPECT_THAT(used_, ElementsAre("GPU:0", "GPU:1", "GPU:2", "GPU:0"));
}

TEST_F(BusyCapsule, CountsCallsInProgress) {
  load({{"GPU:0", 0}, {"GPU:1", 0.5}});
  auto busy = std::async(std::launch::async, [&] { capsule_->process_frame(frame_at(kHeld)); });
  held_.wait("the held frame in its backend");

  capsule_->process_frame(frame_at(1));
  EXPECT_EQ(capsule_->workload(), 1.5);
  release_.open();
  EXPECT_NO_THROW(busy.get());

  EXPECT_THAT(used_, ElementsAre("GPU:0", "GPU:1"));
}

TEST_F(BusyCapsule, DoesNotCountEndedCalls) {
  load({{"GPU:0", 0}, {"GPU:1", 0.5}});

  capsule_->process_frame(frame_at(0));
  capsule_->process_frame(frame_at(1));

  EXPECT_THAT(used_, ElementsAre("GPU:0", "GPU:0"));
}

TEST_F(BusyCapsule, SpreadsCallsThatComeAtOnce) {
  constexpr int kDevices = 3;
  Meeting all_inside(kDevices);
  std::mutex mutex;
  std::vector<std::string> used;
  Capsule capsule = test::capsule_of(
      detector_info(), author_of([&](const CapsuleFiles&, const std::string& device) {
        auto backend = std::make_unique<FakeBackend>();
        backend->process = [&, device](const Frame&, DetectionNodes, const OptionValues&,
                                       BaseStreamState&) {
          {
            const std::lock_guard lock(mutex);
            used.push_back(device);
          }
          all_inside.arrive_and_wait("calls of the other backends");
          return DetectionNodes::all();
        };
        return backend;
      }),
      {.devices = {"GPU:0", "GPU:1", "GPU:2"}});
  std::vector<std::future<void>> calls;
  for (int i = 0; i < kDevices; ++i)
    calls.push_back(std::async(std::launch::async, [&] { capsule.process_frame(frame_at(0)); }));
  for (auto& call : calls) EXPECT_NO_THROW(call.get());

  EXPECT_THAT(used, UnorderedElementsAre("GPU:0", "GPU:1", "GPU:2"));
}

TEST(CapsuleClose, WaitsForFramesInProgressAndRefusesLaterOnes) {
  std::atomic<bool> closed = false;
  std::atomic<bool> closed_too_early = false;
  Latch inside;
  Latch release;
  Capsule capsule =
      test::capsule_of(detector_info(), author_of([&](const CapsuleFiles&, const std::string&) {
                         auto backend = std::make_unique<FakeBackend>();
                         backend->on_close = [&] { closed = true; };
                         backend->process = [&](const Frame&, DetectionNodes, const OptionValues&,
                                                BaseStreamState&) {
                           inside.open();
                           release.wait("the release of the frame");
                           closed_too_early = closed.load();
                           return DetectionNodes::all();
                         };
                         return backend;
                       }),
                       {.devices = {"CPU:0"}});
  auto frame = std::async(std::launch::async, [&] { capsule.process_frame(frame_at(0)); });
  inside.wait("the frame in its backend");
  auto closing = std::async(std::launch::async, [&] { capsule.close(); });

  // A call that does not reach the backend shows when close() has begun.
  yield_until("the begin of close()", [&] {
    try {
      (void)capsule.distances({}, {});
    } catch (const BatchError&) {
      return true;
    } catch (const InvalidArgument&) {
    }
    return false;
  });
  EXPECT_FALSE(closed);
  release.open();
  EXPECT_NO_THROW(frame.get());
  closing.get();

  EXPECT_FALSE(closed_too_early);
  EXPECT_TRUE(closed);
}

TEST(CapsuleClose, RacesWithFramesWithoutLosingOne) {
  constexpr int kThreads = 4;
  std::atomic<int> answered = 0;
  std::atomic<int> refused = 0;
  std::atomic<int> processed = 0;
  const auto capsule = make_capsule(
      stateful_info(), [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
        ++processed;
        return DetectionNodes::all();
      });
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&] {
        try {
          for (int i = 0;; ++i) {
            capsule->process_frame(frame_at(i), {}, {}, "one");
            ++answered;
          }
        } catch (const BatchError&) {
          ++refused;
        }
      });
    // Without close(), the threads would not end.
    EXPECT_NO_THROW(yield_until("a hundred frames", [&] { return answered >= 100; }));
    capsule->close();
  }

  EXPECT_EQ(refused, kThreads);
  EXPECT_EQ(answered, processed);
}

}  // namespace
}  // namespace vcap
