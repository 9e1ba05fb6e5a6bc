// SPDX-License-Identifier: Apache-2.0
// Calls of capsules that do not return before their deadline.
#include <gmock/gmock.h>

#include <map>
#include <thread>

#include "support/bounded_wait.hpp"
#include "support/manual_clock.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/capsule/base_backend.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "workers/work_pool.hpp"

namespace vcap::test {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// Collects the log during a test.
class Log {
 public:
  Log() {
    set_log_hook([this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
      changed_.notify_all();
    });
  }
  ~Log() { set_log_hook({}); }
  void await(const std::string& part, std::ptrdiff_t times = 1) {
    std::unique_lock lock(mutex_);
    bounded_wait(changed_, lock, "a log line with \"" + part + "\"", [&] {
      return times <= std::ranges::count_if(lines_, [&](const std::string& line) {
               return line.find(part) != std::string::npos;
             });
    });
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

cv::Mat image() { return cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(7)); }

/// Its process() hangs on frame 1 of a stream whose pixels are 7, until `release` opens.
struct Hanging {
  Latch entered, release, left;
  Process process() {
    return [this](const Frame& frame, DetectionNodes nodes, const OptionValues&,
                  BaseStreamState& state) {
      if (auto* counting = dynamic_cast<CountingState*>(&state)) ++counting->frames;
      if (frame.index == 1 && frame.image.at<cv::Vec3b>(0, 0)[0] == 7) {
        entered.open();
        release.wait();
        left.open();
      }
      return nodes.kind() == Size::none ? DetectionNodes::all() : nodes;
    };
  }
};

class Deadline : public testing::Test {
 protected:
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  Log log_;
  /// Waits until there is a deadline `limit` from now, and then moves time to it.
  void let_pass(std::chrono::nanoseconds limit) {
    clock_->await_sleeper(clock_->now() + limit);
    clock_->advance(limit);
  }
};

TEST_F(Deadline, AnswersTheFrameAndLeavesOutTheCapsuleUntilItReturns) {
  Hanging hanging;
  Pipeline pipeline({make_detector("people", "person"),
                     make_capsule(all_info("stuck", "person"), hanging.process())},
                    {.workers = 1, .clock = clock_});
  FrameFeed feed;
  pipeline.open_stream({.id = "bad",
                        .source = feed.source(),
                        .frames_in_flight = 1,
                        .pull = true,
                        .capsule_deadline = seconds(5)});
  feed.push(image());
  EXPECT_THAT(pipeline.next("bad")->errors, IsEmpty());
  feed.push(image());
  hanging.entered.wait();
  let_pass(seconds(5));
  const FrameRecord answered = *pipeline.next("bad");
  ASSERT_EQ(answered.errors.size(), 1u);
  EXPECT_EQ(answered.errors[0].capsule, "stuck");
  EXPECT_EQ(answered.errors[0].code, "deadline_exceeded");
  EXPECT_THAT(answered.errors[0].message, HasSubstr("5.0 s"));
  EXPECT_EQ(answered.objects.size(), 1u) << "the nodes must be as they were before the capsule";

  feed.push(image());
  const FrameRecord next = *pipeline.next("bad");
  ASSERT_EQ(next.errors.size(), 1u);
  EXPECT_THAT(next.errors[0].message, HasSubstr("has not returned"));
  EXPECT_EQ(pipeline.stats().streams[0].overdue, 1);

  hanging.release.open();
  log_.await("has returned");
  feed.push(image());
  EXPECT_THAT(pipeline.next("bad")->errors, IsEmpty());
  feed.end();
  EXPECT_FALSE(pipeline.next("bad"));
  EXPECT_EQ(pipeline.wait("bad").errors, 2);
}

TEST_F(Deadline, EndsThePauseWhenAHangingCapsuleIsReplaced) {
  for (const bool stateful : {false, true}) {
    Hanging hanging;
    const auto version = [&](int number, const Process& process) {
      CapsuleInfo info = detector_info("stuck", "person");
      info.version = number;
      if (stateful) info.stream_state = make_stream_state<CountingState>();
      return make_capsule(info, process);
    };
    Pipeline pipeline({version(1, hanging.process())}, {.workers = 1, .clock = clock_});
    FrameFeed feed;
    pipeline.open_stream({.id = "a",
                          .source = feed.source(),
                          .frames_in_flight = 1,
                          .pull = true,
                          .capsule_deadline = seconds(5)});
    feed.push(image());
    EXPECT_THAT(pipeline.next("a")->errors, IsEmpty());
    feed.push(image());
    hanging.entered.wait();
    let_pass(seconds(5));
    EXPECT_EQ(pipeline.next("a")->errors.size(), 1u);
    pipeline.replace_capsule(version(2, [](const Frame&, DetectionNodes, const OptionValues&,
                                           BaseStreamState&) { return DetectionNodes::all(); }));
    feed.push(image());
    EXPECT_THAT(pipeline.next("a")->errors, IsEmpty()) << "the old one still hangs";
    hanging.release.open();
    log_.await("has returned", stateful ? 2 : 1);
    feed.end();
    EXPECT_FALSE(pipeline.next("a"));
  }
}

TEST_F(Deadline, ReportsTheStackOfWork) {
  Hanging hanging;
  Pipeline pipeline({make_capsule(detector_info("stuck", "person"), hanging.process())},
                    {.clock = clock_});
  FrameFeed feed;
  pipeline.open_stream({.id = "bad",
                        .source = feed.source(),
                        .frames_in_flight = 1,
                        .capsule_deadline = std::chrono::milliseconds(2500)});
  feed.push(image());
  feed.push(image());
  hanging.entered.wait();
  let_pass(std::chrono::milliseconds(2500));
  log_.await("has taken longer");
  EXPECT_THAT(log_.lines(),
              Contains(testing::AllOf(
                  HasSubstr("stream bad: frame 1: capsule stuck version 1 (step 1 of 1) has taken "
                            "longer than 2.5 s"),
                  HasSubstr("call 1 of 1 for "), HasSubstr(" s in thread "),
                  HasSubstr("backend on CPU:0: 1 calls in progress"))));
  hanging.release.open();
  log_.await("has returned");
}

TEST_F(Deadline, DoesNotBlockOtherStreams) {
  Hanging hanging;
  Pipeline pipeline({make_capsule(detector_info("stuck", "person"), hanging.process())},
                    {.workers = 1, .clock = clock_});
  FrameFeed bad, good;
  pipeline.open_stream({.id = "bad",
                        .source = bad.source(),
                        .frames_in_flight = 1,
                        .pull = true,
                        .capsule_deadline = seconds(5)});
  pipeline.open_stream({.id = "good", .source = good.source(), .pull = true});
  bad.push(image());
  pipeline.next("bad");
  bad.push(image());
  hanging.entered.wait();
  let_pass(seconds(5));
  // The only worker hangs, and another one has taken its place.
  for (int i = 0; i < 3; ++i) {
    good.push(cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(8)));
    EXPECT_THAT(pipeline.next("good")->errors, IsEmpty());
  }
  hanging.release.open();
  log_.await("has returned");
}

TEST_F(Deadline, ShowsAStatefulCapsuleAGapWhenItReturns) {
  Hanging hanging;
  std::vector<Discontinuity> seen;
  CapsuleInfo info = detector_info("stuck", "person");
  info.stream_state = make_stream_state<CountingState>();
  const Process process = hanging.process();
  Pipeline pipeline({make_capsule(info,
                                  [&](const Frame& frame, DetectionNodes nodes,
                                      const OptionValues& options, BaseStreamState& state) {
                                    seen.push_back(frame.discontinuity);
                                    return process(frame, std::move(nodes), options, state);
                                  })},
                    {.clock = clock_});
  FrameFeed feed;
  pipeline.open_stream(
      {.id = "bad", .source = feed.source(), .pull = true, .capsule_deadline = seconds(5)});
  feed.push(image());
  pipeline.next("bad");
  feed.push(image());
  feed.push(image());
  hanging.entered.wait();
  let_pass(seconds(5));
  EXPECT_EQ(pipeline.next("bad")->errors.size(), 1u);
  EXPECT_EQ(pipeline.next("bad")->errors.size(), 1u) << "later frames must not wait";
  hanging.release.open();
  log_.await("has returned");
  feed.push(image());
  EXPECT_THAT(pipeline.next("bad")->errors, IsEmpty());
  EXPECT_THAT(seen,
              testing::ElementsAre(Discontinuity::start, Discontinuity::none, Discontinuity::gap));
}

TEST_F(Deadline, GivesUpCallsForSingleNodesOneByOne) {
  Latch release;
  std::atomic<int> calls = 0;
  Pipeline pipeline(
      {make_detector("people", "person", 4),
       make_capsule(single_info("stuck", "person"),
                    [&](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                      ++calls;
                      if (nodes.node().coords[0].y == 40) release.wait();
                      nodes.node().name = "done";
                      return nodes;
                    })},
      {.workers = 4, .clock = clock_});
  FrameFeed feed;
  pipeline.open_stream(
      {.id = "bad", .source = feed.source(), .pull = true, .capsule_deadline = seconds(1)});
  feed.push(image());
  yield_until("four calls", [&] { return calls >= 4; });
  let_pass(seconds(1));
  const FrameRecord record = *pipeline.next("bad");
  EXPECT_EQ(names(record.objects),
            (std::vector<std::string>{"person", "person", "person", "person"}));
  EXPECT_EQ(record.errors.size(), 1u);
  release.open();
  log_.await("has returned");
}

TEST_F(Deadline, LetsAPipelineEndWhileACallHangs) {
  Hanging hanging;
  auto capsule = make_capsule(detector_info("stuck", "person"), hanging.process());
  const std::weak_ptr<Capsule> watched = capsule;
  {
    Pipeline pipeline({std::move(capsule)}, {.clock = clock_});
    FrameFeed feed;
    pipeline.open_stream(
        {.id = "bad", .source = feed.source(), .pull = true, .capsule_deadline = seconds(5)});
    feed.push(image());
    pipeline.next("bad");
    feed.push(image());
    hanging.entered.wait();
    let_pass(seconds(5));
    EXPECT_EQ(pipeline.next("bad")->errors.size(), 1u);
  }
  EXPECT_FALSE(watched.expired()) << "the call that was given up keeps its capsule";
  hanging.release.open();
  hanging.left.wait();
  yield_until("the end of the capsule", [&] { return watched.expired(); });
}

TEST_F(Deadline, AnswersFramesThatWaitForAHangingBatch) {
  struct Latches {
    Latch entered, called_again, release, left;
    std::atomic<int> calls{0};
  } latches;
  class Stuck final : public BaseBackend<int, int> {
   public:
    explicit Stuck(Latches& latches) : latches_(latches) {}
    DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                                 BaseStreamState&) override {
      if (++latches_.calls == 2) latches_.called_again.open();
      predict(static_cast<int>(frame.index));
      return DetectionNodes::all();
    }
    std::vector<int> batch_predict(std::span<const int> inputs) override {
      latches_.entered.open();
      latches_.release.wait();
      latches_.left.open();
      return {inputs.begin(), inputs.end()};
    }

   private:
    Latches& latches_;
  };
  class StuckCapsule final : public BaseCapsule {
   public:
    explicit StuckCapsule(Latches& latches) : latches_(latches) {}
    std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
      return std::make_unique<Stuck>(latches_);
    }

   private:
    Latches& latches_;
  };
  CapsuleInfo info = detector_info("stuck", "person");
  info.version = 1;
  Pipeline pipeline({std::make_shared<Capsule>(info, std::make_unique<StuckCapsule>(latches),
                                               Capsule::Setup{.devices = {"CPU:0"}})},
                    {.clock = clock_});
  FrameFeed feed_of_bad;
  pipeline.open_stream(
      {.id = "bad", .source = feed_of_bad.source(), .pull = true, .capsule_deadline = seconds(5)});
  feed_of_bad.push(image());
  latches.entered.wait();
  let_pass(seconds(5));
  EXPECT_EQ(pipeline.next("bad")->errors.at(0).code, "deadline_exceeded");
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("batch of 1 in predict, 0 inputs queued")));

  // A frame of another stream waits behind it until the deadline of that stream.
  FrameFeed other;
  pipeline.open_stream(
      {.id = "other", .source = other.source(), .pull = true, .capsule_deadline = seconds(3)});
  other.push(image());
  latches.called_again
      .wait();  // otherwise the deadline may pass before the call, and there is no call
  let_pass(seconds(3));
  EXPECT_EQ(pipeline.next("other")->errors.at(0).code, "deadline_exceeded");
  latches.release.open();
  latches.left.wait();  // nothing else waits for this
  // Both streams continue when their calls have returned.
  for (const auto& [id, feed] : {std::pair("bad", &feed_of_bad), std::pair("other", &other)}) {
    FrameRecord record;
    do {
      feed->push(image());
      record = *pipeline.next(id);
    } while (!record.errors.empty());
  }
  log_.await("has returned", 2);
}

// The host's log hook runs when a call is given up. The call may return meanwhile.
TEST(DeadlineLog, MayTakeLongerThanTheCallThatItIsAbout) {
  Hanging hanging;
  Latch returned, passed;
  std::map<std::int64_t, std::uint64_t> workers;  // by frame
  const auto clock = std::make_shared<ManualClock>();
  Pipeline pipeline({make_capsule(detector_info("stuck", "person"),
                                  [&, process = hanging.process()](
                                      const Frame& frame, DetectionNodes nodes,
                                      const OptionValues& options, BaseStreamState& state) {
                                    workers[frame.index] = WorkPool::current();
                                    return process(frame, std::move(nodes), options, state);
                                  }),
                     make_capsule(all_info("next", "person"),
                                  [&](const Frame& frame, DetectionNodes nodes, const OptionValues&,
                                      BaseStreamState&) {
                                    if (frame.index == 2) passed.open();
                                    return nodes;
                                  })},
                    {.workers = 1, .clock = clock});
  FrameFeed feed;
  set_log_hook([&](LogLevel, std::string_view line) {
    if (line.find("has returned") != std::string_view::npos) returned.open();
    if (line.find("has taken longer") == std::string_view::npos) return;
    hanging.release.open();
    returned.wait();
    feed.push(image());
    passed.wait();
  });
  pipeline.open_stream({.id = "s",
                        .source = feed.source(),
                        .frames_in_flight = 2,
                        .pull = true,
                        .capsule_deadline = seconds(5)});
  feed.push(image());
  EXPECT_THAT(pipeline.next("s")->errors, IsEmpty());
  feed.push(image());
  hanging.entered.wait();
  clock->await_sleeper(clock->now() + seconds(5));
  clock->advance(seconds(5));
  EXPECT_EQ(pipeline.next("s")->errors.size(), 1u);
  EXPECT_THAT(pipeline.next("s")->errors, IsEmpty()) << "no call hangs any more";
  set_log_hook({});
  ASSERT_TRUE(workers.contains(2));
  EXPECT_NE(workers.at(2), workers.at(1)) << "a worker that was given up must not take more work";
}

TEST_F(Deadline, IsRefusedBelowZero) {
  Pipeline pipeline({make_detector("people", "person")});
  EXPECT_THAT(
      [&] {
        pipeline.open_stream({.id = "s",
                              .source = make_source(1),
                              .capsule_deadline = std::chrono::nanoseconds(-1)});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("capsule_deadline")));
}

}  // namespace
}  // namespace vcap::test
