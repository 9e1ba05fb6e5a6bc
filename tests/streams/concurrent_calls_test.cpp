// SPDX-License-Identifier: Apache-2.0
// The bound on calls in progress of a capsule: frames beyond it wait without a worker.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/cores.hpp"
#include "support/manual_clock.hpp"
#include "support/operation_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

cv::Mat image_of_a() { return cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(7)); }

/// Counts the calls in progress, and holds them while it is shut.
class Gauge {
 public:
  void open() { gate_.open(); }
  int running() const { return running_; }
  int most() const { return most_; }
  int calls() const { return calls_; }
  /// One call.
  void pass() {
    ++calls_;
    const int now = ++running_;
    for (int most = most_; now > most && !most_.compare_exchange_weak(most, now);) {
    }
    gate_.wait("the end of the hold");
    --running_;
  }
  /// A process that gives back the nodes that it got.
  Process process() {
    return [this](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
      pass();
      return nodes.kind() == Size::none ? DetectionNodes::all() : nodes;
    };
  }

 private:
  Latch gate_;
  std::atomic<int> running_ = 0, most_ = 0, calls_ = 0;
};

std::size_t waiting_for(const Pipeline& pipeline, const std::string& capsule) {
  const PipelineStats stats = pipeline.stats();
  return std::ranges::find(stats.capsules, capsule, &CapsuleStats::name)->waiting;
}

void await_waiting(const Pipeline& pipeline, const std::string& capsule, std::size_t waiting) {
  yield_until(std::to_string(waiting) + " frames that wait for " + capsule,
              [&] { return waiting_for(pipeline, capsule) == waiting; });
}

/// Opens the gauge when a test ends early, so that its pipeline can end.
struct OpensAtEnd {
  Gauge& gauge;
  ~OpensAtEnd() { gauge.open(); }
};

TEST(ConcurrentCalls, OfASlowCapsuleLeaveWorkersToOthersByDefault) {
  Gauge slow;
  Pipeline pipeline(
      {make_capsule(detector_info("slow", "a"), slow.process()), make_detector("fast", "b")},
      {.workers = 4});
  const OpensAtEnd opens{slow};
  const std::size_t places = 4 - std::min<std::size_t>(cores(), 2);
  for (int i = 0; i < 8; ++i)
    pipeline.open_stream({.id = "slow" + std::to_string(i),
                          .source = make_source(4),
                          .capsules = {{"slow"}},
                          .frames_in_flight = 4});
  await_waiting(pipeline, "slow", 32 - places);
  pipeline.open_stream({.id = "fast", .source = make_source(100), .capsules = {{"fast"}}});
  yield_until("the fast stream's end", [&] {
    return std::ranges::any_of(pipeline.reports(), [](const StreamReport& report) {
      return report.id == "fast" && report.frames == 100;
    });
  });
  EXPECT_EQ(slow.running(), static_cast<int>(places));
  slow.open();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pipeline.wait("slow" + std::to_string(i)).frames, 4);
  EXPECT_LE(slow.most(), static_cast<int>(places));
  EXPECT_EQ(slow.calls(), 32);
}

TEST(ConcurrentCalls, GrowWithTheAutomaticNumberOfWorkers) {
  Gauge slow;
  Pipeline pipeline(
      {make_capsule(detector_info("slow", "a"), slow.process()), make_detector("fast", "b")});
  const OpensAtEnd opens{slow};
  const auto most = [&] { return pipeline.stats().capsules[0].most_calls; };
  const std::size_t at_first = most();
  EXPECT_EQ(at_first, cores());
  const auto open = [&](const char* id) {
    pipeline.open_stream(
        {.id = id, .source = make_source(20), .capsules = {{"slow"}}, .frames_in_flight = 20});
  };
  open("a");
  EXPECT_EQ(most(), std::max<std::size_t>(2 * cores(), 20) - cores());
  await_waiting(pipeline, "slow", 20 - std::min<std::size_t>(20, most()));
  open("b");  // what waits goes on, with the workers that are added
  EXPECT_EQ(most(), std::max<std::size_t>(2 * cores(), 40) - cores());
  yield_until("more calls", [&] {
    return slow.running() == static_cast<int>(std::min<std::size_t>(40, most()));
  });
  slow.open();
  EXPECT_EQ(pipeline.wait("a").frames + pipeline.wait("b").frames, 40);
}

TEST(ConcurrentCalls, HaveNoBoundIfTheCapsuleIsAlone) {
  Pipeline pipeline({make_detector("only", "a")}, {.workers = 4});
  EXPECT_EQ(pipeline.stats().capsules[0].most_calls, 0u);
}

struct KindCase {
  std::string name;
  std::function<std::shared_ptr<Capsule>(Gauge&)> capsule;
  int calls_at_least;
};

class ConcurrentCallsOf : public testing::TestWithParam<KindCase> {};

/// Of each kind of capsule, at most two calls are in progress, and every frame passes.
TEST_P(ConcurrentCallsOf, StayWithinTheBound) {
  Gauge gauge;
  Pipeline pipeline({make_detector("people", "person", 5), GetParam().capsule(gauge)},
                    {.workers = 6, .max_concurrent_calls = {{"bounded", 2}, {"people", 0}}});
  const OpensAtEnd opens{gauge};
  constexpr int kStreams = 4;
  std::atomic<std::int64_t> errors = 0;
  for (int i = 0; i < kStreams; ++i)
    pipeline.open_stream({.id = std::to_string(i),
                          .source = make_source(20),
                          .sinks = {make_callback_sink([&](const FrameRecord& record) {
                            if (!record.errors.empty()) ++errors;
                          })},
                          .frames_in_flight = 6});
  yield_until("two calls", [&] { return gauge.running() == 2; });
  yield_until("frames that wait", [&] { return waiting_for(pipeline, "bounded") > 0; });
  gauge.open();
  for (int i = 0; i < kStreams; ++i) EXPECT_EQ(pipeline.wait(std::to_string(i)).frames, 20);
  EXPECT_EQ(gauge.most(), 2);
  EXPECT_GE(gauge.calls(), GetParam().calls_at_least);
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(waiting_for(pipeline, "bounded"), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Streams, ConcurrentCallsOf,
    testing::Values(KindCase{"FramesAlone",
                             [](Gauge& gauge) {
                               return make_capsule(all_info("bounded", "person"), gauge.process());
                             },
                             80},
                    KindCase{"SingleNodes",
                             [](Gauge& gauge) {
                               return make_capsule(single_info("bounded", "person"),
                                                   gauge.process());
                             },
                             400},
                    KindCase{"ACapsuleWithState",
                             [](Gauge& gauge) {
                               CapsuleInfo bounded = all_info("bounded", "person");
                               bounded.stream_state = make_stream_state<CountingState>();
                               return make_capsule(std::move(bounded), gauge.process());
                             },
                             80},
                    KindCase{"Windows",
                             [](Gauge& gauge) {
                               CapsuleInfo bounded = detector_info("bounded", "thing");
                               bounded.stencil = Stencil{.offsets = {-1, 0, 1}};
                               return make_window_capsule(std::move(bounded),
                                                          [&gauge](auto, auto, const auto&, auto&) {
                                                            gauge.pass();
                                                            return DetectionNodes::all();
                                                          });
                             },
                             80},
                    KindCase{"FramesTogether",
                             [](Gauge& gauge) {
                               CapsuleInfo bounded = detector_info("bounded", "thing");
                               bounded.batch = {.maximum = 4};
                               return make_batch_capsule(
                                   std::move(bounded),
                                   [&gauge](std::span<const Frame> frames, auto) {
                                     gauge.pass();
                                     return std::optional(std::vector<DetectionNodes>(
                                         frames.size(), DetectionNodes::all()));
                                   },
                                   gauge.process());
                             },
                             20},
                    KindCase{"BatchesThatFail",
                             [](Gauge& gauge) {
                               CapsuleInfo bounded = detector_info("bounded", "thing");
                               bounded.batch = {.maximum = 4};
                               return make_batch_capsule(
                                   std::move(bounded),
                                   [&gauge](auto,
                                            auto) -> std::optional<std::vector<DetectionNodes>> {
                                     gauge.pass();
                                     throw std::runtime_error("not together");
                                   },
                                   gauge.process());
                             },
                             80}),
    [](const auto& test) { return test.param.name; });

TEST(ConcurrentCalls, AreGivenToStreamsInTurns) {
  std::mutex mutex;
  std::vector<std::string> order;
  Latch first_holds, entered;
  std::atomic<bool> is_first = true;
  Pipeline pipeline(
      {make_capsule(detector_info("slow", "a"),
                    [&](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                      {
                        const std::lock_guard lock(mutex);
                        const bool of_a = frame.image.at<cv::Vec3b>(0, 0)[0] == 7;
                        order.push_back((of_a ? "a" : "b") + std::to_string(frame.index));
                      }
                      if (is_first.exchange(false)) {
                        entered.open();
                        first_holds.wait();
                      }
                      return DetectionNodes::all();
                    })},
      {.workers = 2, .max_concurrent_calls = {{"slow", 1}}});
  FrameFeed a, b;
  pipeline.open_stream({.id = "a", .source = a.source(), .frames_in_flight = 8});
  pipeline.open_stream({.id = "b", .source = b.source(), .frames_in_flight = 8});
  for (int i = 0; i < 5; ++i) a.push(image_of_a());
  entered.wait();
  await_waiting(pipeline, "slow", 4);
  for (int i = 0; i < 2; ++i) b.push(cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(8)));
  await_waiting(pipeline, "slow", 6);
  first_holds.open();
  a.end();
  b.end();
  pipeline.wait("a");
  pipeline.wait("b");
  EXPECT_THAT(order, ElementsAre("a0", "a1", "b0", "a2", "b1", "a3", "a4"));
}

TEST(ConcurrentCalls, ThatDoNotReturnGiveTheirPlaceBackAtTheDeadline) {
  const auto clock = std::make_shared<ManualClock>();
  Latch entered, release;
  std::atomic<int> left = 0, running = 0, most_others = 0;
  Pipeline pipeline({make_capsule(detector_info("stuck", "a"),
                                  [&](const Frame& frame, auto, const auto&, auto&) {
                                    if (frame.image.at<cv::Vec3b>(0, 0)[0] == 7) {
                                      entered.open();
                                      release.wait();
                                      ++left;
                                    } else {
                                      most_others = std::max<int>(most_others, ++running);
                                      std::this_thread::yield();
                                      --running;
                                    }
                                    return DetectionNodes::all();
                                  })},
                    {.workers = 3, .max_concurrent_calls = {{"stuck", 1}}, .clock = clock});
  FrameFeed bad, good;
  pipeline.open_stream({.id = "bad",
                        .source = bad.source(),
                        .pull = true,
                        .capsule_deadline = std::chrono::seconds(5)});
  pipeline.open_stream({.id = "good", .source = good.source(), .pull = true});
  bad.push(image_of_a());
  entered.wait();
  good.push(cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(8)));
  await_waiting(pipeline, "stuck", 1);
  clock->await_sleeper(clock->now() + std::chrono::seconds(5));
  clock->advance(std::chrono::seconds(5));
  EXPECT_EQ(pipeline.next("bad")->errors.at(0).code, "deadline_exceeded");
  EXPECT_THAT(pipeline.next("good")->errors, IsEmpty());
  release.open();
  yield_until("the return of the call", [&] { return left == 1; });
  // The late call does not give its place back a second time.
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 5; ++j) good.push(cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(8)));
    for (int j = 0; j < 5; ++j) EXPECT_THAT(pipeline.next("good")->errors, IsEmpty());
  }
  EXPECT_EQ(most_others, 1);
  bad.end();
  good.end();
  EXPECT_FALSE(pipeline.next("bad"));
  EXPECT_FALSE(pipeline.next("good"));
}

TEST(ConcurrentCalls, AreSkippedByFramesWhoseCapsuleIsQuarantinedWhileTheyWait) {
  Latch release, entered;
  std::atomic<int> calls = 0;
  Pipeline pipeline({make_capsule(detector_info("bad", "a"),
                                  [&](const auto&, auto, const auto&, auto&) -> DetectionNodes {
                                    ++calls;
                                    entered.open();
                                    release.wait();
                                    throw std::runtime_error("bad");
                                  })},
                    {.workers = 2,
                     .quarantine = {.failures = 1,
                                    .window = std::chrono::hours(1),
                                    .pause = std::chrono::hours(1)},
                     .max_concurrent_calls = {{"bad", 1}}});
  std::vector<std::string> codes;
  pipeline.open_stream({.id = "s",
                        .source = make_source(6),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          for (const auto& error : record.errors) codes.push_back(error.code);
                        })},
                        .frames_in_flight = 6});
  entered.wait();
  await_waiting(pipeline, "bad", 5);
  release.open();
  EXPECT_EQ(pipeline.wait("s").frames, 6);
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(codes, ElementsAre("exception", "quarantined", "quarantined", "quarantined",
                                 "quarantined", "quarantined"));
}

TEST(ConcurrentCalls, OfAReplacedCapsuleDoNotCountForTheNewOne) {
  Gauge old;
  std::atomic<int> fresh = 0;
  const auto version = [](int number, const Process& process) {
    CapsuleInfo info = detector_info("slow", "a");
    info.version = number;
    return make_capsule(info, process);
  };
  Pipeline pipeline({version(1, old.process())},
                    {.workers = 3, .max_concurrent_calls = {{"slow", 1}}});
  const OpensAtEnd opens{old};
  FrameFeed feed;
  pipeline.open_stream({.id = "s", .source = feed.source(), .frames_in_flight = 8});
  for (int i = 0; i < 3; ++i) feed.push(image_of_a());
  await_waiting(pipeline, "slow", 2);
  pipeline.replace_capsule(version(2, [&](const auto&, auto, const auto&, auto&) {
    ++fresh;
    return DetectionNodes::all();
  }));
  for (int i = 0; i < 3; ++i) feed.push(image_of_a());
  yield_until("the calls of the new capsule", [&] { return fresh == 3; });
  EXPECT_EQ(old.running(), 1);
  old.open();
  feed.end();
  EXPECT_EQ(pipeline.wait("s").frames, 6);
  EXPECT_EQ(old.calls(), 3);
}

TEST(ConcurrentCalls, EndWithTheirStream) {
  Gauge slow;
  Pipeline pipeline({make_capsule(detector_info("slow", "a"), slow.process())},
                    {.workers = 3, .max_concurrent_calls = {{"slow", 1}}});
  const OpensAtEnd opens{slow};
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = -1}),
                        .frames_in_flight = 5});
  await_waiting(pipeline, "slow", 4);
  pipeline.stop();
  std::thread closer([&] { pipeline.close_stream("s"); });
  slow.open();
  closer.join();
  EXPECT_EQ(waiting_for(pipeline, "slow"), 0u);
  EXPECT_EQ(slow.most(), 1);
}

TEST(ConcurrentCalls, AreBoundedByTheAuthorUnlessTheHostSaysOtherwise) {
  CapsuleInfo info = detector_info("d", "a");
  info.max_concurrent_calls = 3;
  const auto most = [&](Pipeline::Settings settings) {
    return Pipeline({make_capsule(info, give_back)}, std::move(settings))
        .stats()
        .capsules[0]
        .most_calls;
  };
  EXPECT_EQ(most({}), 3u);
  EXPECT_EQ(most({.max_concurrent_calls = {{"d", 7}}}), 7u);
  EXPECT_EQ(most({.max_concurrent_calls = {{"d", 0}}}), 0u);
}

TEST(ConcurrentCalls, AreRefusedForAnUnknownCapsule) {
  EXPECT_THAT(
      [] {
        Pipeline({make_detector("people", "person")}, {.max_concurrent_calls = {{"person", 1}}});
      },
      ThrowsError<InvalidArgument>(
          ErrorCode::invalid_argument,
          testing::AllOf(HasSubstr("max_concurrent_calls of capsule person"),
                         HasSubstr("it has people"))));
}

}  // namespace
}  // namespace vcap::test
