// SPDX-License-Identifier: Apache-2.0
// Calls of capsules that do not return before their deadline.
#include <gmock/gmock.h>

#include <map>
#include <thread>

#include "support/bounded_wait.hpp"
#include "support/isolated_capsule.hpp"
#include "support/manual_clock.hpp"
#include "support/operation_helpers.hpp"
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
                  HasSubstr("backend on CPU:0: 1 call in progress"))));
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
  CapsuleInfo info = single_info("stuck", "person");
  info.output_type.detections = {"done"};
  Pipeline pipeline(
      {make_detector("people", "person", 4),
       make_capsule(info,
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
  Pipeline pipeline({test::kept_capsule_of(info, std::make_unique<StuckCapsule>(latches),
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
/// Another number on each thread, also if the system reuses a thread's id.
std::uint64_t number_of_thread() {
  static std::atomic<std::uint64_t> last = 0;
  thread_local const std::uint64_t own = ++last;
  return own;
}

TEST(DeadlineLog, MayTakeLongerThanTheCallThatItIsAbout) {
  Hanging hanging;
  Latch returned, passed;
  std::map<std::int64_t, std::uint64_t> workers;  // by frame
  const auto clock = std::make_shared<ManualClock>();
  Pipeline pipeline({make_capsule(detector_info("stuck", "person"),
                                  [&, process = hanging.process()](
                                      const Frame& frame, DetectionNodes nodes,
                                      const OptionValues& options, BaseStreamState& state) {
                                    workers[frame.index] = number_of_thread();
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
  std::atomic<bool> was_held_up = true;
  set_log_hook([&](LogLevel, std::string_view line) {
    if (line.find("has returned") != std::string_view::npos) returned.open();
    if (line.find("has taken longer") == std::string_view::npos) return;
    hanging.release.open();
    returned.wait();
    feed.push(image());
    passed.wait();
    was_held_up = false;
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
  EXPECT_FALSE(was_held_up) << "other frames of the capsule must not wait for the log hook";
  ASSERT_TRUE(workers.contains(2));
  EXPECT_NE(workers.at(2), workers.at(1)) << "a worker that was given up must not take more work";
}

/// Its process_frames() hangs once, when it gets two frames or more, until `release` opens. The
/// first call waits for `first`, so that frames gather.
struct HangingBatch {
  Latch alone, first, entered, release;
  std::atomic<int> left = 0;
  std::atomic<bool> hangs = true;
  /// Pushes frames: the others come only when the first one is in a call by itself.
  void push(FrameFeed& feed, int frames) {
    feed.push(image());
    alone.wait("the call for the first frame");
    for (int i = 1; i < frames; ++i) feed.push(image());
  }
  std::shared_ptr<Capsule> capsule(std::size_t maximum) {
    CapsuleInfo info = detector_info("stuck", "person");
    info.batch = {.maximum = maximum};
    return make_batch_capsule(
        std::move(info),
        [this](std::span<const Frame> frames, auto) {
          if (hangs.exchange(false)) {
            entered.open();
            release.wait();
            ++left;
          }
          std::vector<DetectionNodes> results;
          for (const Frame& frame : frames) results.push_back(found(frame));
          return std::optional(std::move(results));
        },
        [this](const Frame& frame, auto, const auto&, auto&) {
          if (frame.index == 0) {
            alone.open();
            first.wait();
          }
          return found(frame);
        });
  }
  static DetectionNodes found(const Frame& frame) {
    return DetectionNodes::all({node_at("person", static_cast<double>(frame.index), 0)});
  }
};

TEST_F(Deadline, AnswersAllFramesThatACapsuleGotTogether) {
  for (const std::size_t places : {0u, 1u}) {
    HangingBatch hanging;
    Pipeline pipeline(
        {hanging.capsule(4), make_detector("other", "car")},
        // While one worker is in the first call, the other one gathers frames in their order.
        {.workers = 2, .max_concurrent_calls = {{"stuck", places}, {"other", 0}}, .clock = clock_});
    FrameFeed feed;
    pipeline.open_stream({.id = "bad",
                          .source = feed.source(),
                          .frames_in_flight = 8,
                          .pull = true,
                          .capsule_deadline = seconds(5)});
    hanging.push(feed, 4);
    yield_until("the begin of all frames", [&] {
      const PipelineStats stats = pipeline.stats();
      return stats.streams[0].read == 4 && stats.streams[0].waiting == 0;
    });
    hanging.first.open();
    EXPECT_THAT(pipeline.next("bad")->errors, IsEmpty());
    hanging.entered.wait();
    let_pass(seconds(5));
    for (int i = 1; i < 4; ++i) {
      const FrameRecord record = *pipeline.next("bad");
      ASSERT_EQ(record.errors.size(), 1u) << i;
      EXPECT_EQ(record.errors[0].code, "deadline_exceeded");
      // The last frame may have come too late for the batch.
      if (i < 3) {
        EXPECT_THAT(record.errors[0].message, HasSubstr("5.0 s"));
      }
      EXPECT_EQ(names(record.objects), std::vector<std::string>{"car"});
    }
    EXPECT_THAT(log_.lines(), Contains(testing::AllOf(HasSubstr("stream bad: frames 1 to "),
                                                      HasSubstr("capsule stuck version 1"),
                                                      HasSubstr(" s in thread "))));
    feed.push(image());
    EXPECT_THAT(pipeline.next("bad")->errors.at(0).message, HasSubstr("has not returned"));
    hanging.release.open();
    log_.await("has returned", places == 0 ? 1 : 2);
    feed.push(image());
    const FrameRecord after = *pipeline.next("bad");
    EXPECT_THAT(after.errors, IsEmpty());
    EXPECT_EQ(after.objects.size(), 2u);
    feed.end();
    EXPECT_FALSE(pipeline.next("bad"));
    EXPECT_EQ(hanging.left, 1);
  }
}

TEST_F(Deadline, EndsTheWaitOfFramesThatGatherBehindAHangingBatch) {
  HangingBatch hanging;
  Pipeline pipeline({hanging.capsule(2)}, {.workers = 2, .clock = clock_});
  FrameFeed feed;
  pipeline.open_stream({.id = "bad",
                        .source = feed.source(),
                        .frames_in_flight = 8,
                        .pull = true,
                        .capsule_deadline = seconds(5)});
  hanging.push(feed, 6);
  yield_until("the begin of all frames", [&] {
    const PipelineStats stats = pipeline.stats();
    return stats.streams[0].read == 6 && stats.streams[0].waiting == 0;
  });
  hanging.first.open();
  hanging.entered.wait();
  let_pass(seconds(5));
  EXPECT_THAT(pipeline.next("bad")->errors, IsEmpty());
  for (int i = 1; i < 6; ++i)
    EXPECT_EQ(pipeline.next("bad")->errors.at(0).code, "deadline_exceeded");
  hanging.release.open();
  log_.await("has returned");
  feed.end();
  EXPECT_FALSE(pipeline.next("bad"));
}

TEST_F(Deadline, HoldsForSlices) {
  Latch entered, release;
  Pipeline pipeline({make_capsule(detector_info("stuck", "person"),
                                  [&](const Frame& frame, auto, const auto&, auto&) {
                                    if (frame.index == 37) {
                                      entered.open();
                                      release.wait();
                                    }
                                    return DetectionNodes::all();
                                  })},
                    {.workers = 4, .clock = clock_});
  std::atomic<std::int64_t> recorded = 0;
  std::vector<std::int64_t> late;
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<IndexedSource>(std::string(40, '.')),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          for (const auto& error : record.errors) {
                            EXPECT_EQ(error.code, "deadline_exceeded");
                            late.push_back(record.frame.index);
                          }
                          ++recorded;
                        })},
                        .slices = 4,
                        .capsule_deadline = seconds(5)});
  entered.wait();
  yield_until("the records before it", [&] { return recorded == 37; });
  let_pass(seconds(5));
  const StreamReport report = pipeline.wait("s");
  EXPECT_EQ(report.frames, 40);
  EXPECT_EQ(report.slices, 4);
  EXPECT_GE(report.overdue, 1);
  ASSERT_FALSE(late.empty());
  EXPECT_EQ(late.front(), 37);
  release.open();
  log_.await("has returned");
}

TEST_F(Deadline, IsLongerWhileABackendMakesItsFirstCall) {
  Latch first, second;
  std::atomic<int> entered = 0;
  Pipeline pipeline(
      {make_capsule(detector_info("compiles", "person"),
                    [&](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                      ++entered;
                      if (frame.index == 0) first.wait();
                      if (frame.index == 1) second.wait();
                      return DetectionNodes::all();
                    })},
      {.workers = 2, .clock = clock_});
  FrameFeed feed;
  pipeline.open_stream({.id = "s",
                        .source = feed.source(),
                        .pull = true,
                        .capsule_deadline = seconds(5),
                        .first_call_deadline = seconds(50)});
  feed.push(image());
  yield_until("the first call", [&] { return entered == 1; });
  let_pass(seconds(5));
  clock_->await_sleeper(clock_->now() + seconds(45));
  clock_->advance(seconds(45) - std::chrono::nanoseconds(1));
  first.open();
  EXPECT_THAT(pipeline.next("s")->errors, IsEmpty());
  clock_->advance(std::chrono::nanoseconds(1));  // the watchdog does not sleep for it any more
  feed.push(image());
  yield_until("the second call", [&] { return entered == 2; });
  let_pass(seconds(5));
  EXPECT_THAT(pipeline.next("s")->errors.at(0).message, HasSubstr("longer than 5.0 s"));
  second.open();
  log_.await("has returned");
}

TEST_F(Deadline, EndsAFirstCallThatHangs) {
  Hanging hanging;
  Pipeline pipeline({make_capsule(detector_info("stuck", "person"),
                                  [&](const auto&, auto, const auto&, auto&) {
                                    hanging.entered.open();
                                    hanging.release.wait();
                                    return DetectionNodes::all();
                                  })},
                    {.workers = 1, .clock = clock_});
  FrameFeed feed;
  pipeline.open_stream({.id = "s",
                        .source = feed.source(),
                        .pull = true,
                        .capsule_deadline = seconds(5),
                        .first_call_deadline = seconds(50)});
  feed.push(image());
  hanging.entered.wait();
  let_pass(seconds(5));
  let_pass(seconds(45));
  EXPECT_THAT(pipeline.next("s")->errors.at(0).message, HasSubstr("longer than 50.0 s"));
  hanging.release.open();
  log_.await("has returned");
}

TEST_F(Deadline, OfAFirstCallIsNotBelowTheOther) {
  Pipeline pipeline({make_detector("people", "person")});
  for (const auto& [deadline, first] :
       {std::pair(seconds(5), seconds(4)), {seconds(0), seconds(4)}, {seconds(5), seconds(-1)}})
    EXPECT_THAT(([&, deadline = deadline, first = first] {
                  pipeline.open_stream({.id = "s",
                                        .source = make_source(1),
                                        .capsule_deadline = deadline,
                                        .first_call_deadline = first});
                }),
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                             HasSubstr("first_call_deadline of stream s")));
}

TEST_F(Deadline, GivesUpCallsAtTheHostsWordToo) {
  Hanging hanging;
  std::vector<FrameRecord> records;
  {
    Pipeline pipeline({make_detector("people", "person"),
                       make_capsule(all_info("stuck", "person"), hanging.process())},
                      {.clock = clock_, .can_give_up_calls = true});
    FrameFeed feed;
    pipeline.open_stream({.id = "bad",
                          .source = feed.source(),
                          .sinks = {make_callback_sink(
                              [&](const FrameRecord& record) { records.push_back(record); })},
                          .frames_in_flight = 8});
    for (int i = 0; i < 5; ++i) feed.push(image());
    feed.end();
    hanging.entered.wait();
    clock_->advance(seconds(1));
    EXPECT_EQ(pipeline.give_up_calls(seconds(2)), 0u) << "it has not lasted that long";
    EXPECT_GE(pipeline.give_up_calls(seconds(1)), 1u);
    const StreamReport report = pipeline.wait("bad");
    EXPECT_EQ(report.frames, 5);
  }
  ASSERT_EQ(records.size(), 5u);
  ASSERT_EQ(records[1].errors.size(), 1u);
  EXPECT_EQ(records[1].errors[0].code, "deadline_exceeded");
  EXPECT_THAT(records[1].errors[0].message, HasSubstr("when the run was ended"));
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("frame 1: capsule stuck")));
  hanging.release.open();
  log_.await("has returned");
}

TEST_F(Deadline, GivesUpACallForSeveralFramesAtTheHostsWord) {
  HangingBatch hanging;
  Pipeline pipeline({hanging.capsule(4)},
                    {.workers = 2, .clock = clock_, .can_give_up_calls = true});
  FrameFeed feed;
  pipeline.open_stream({.id = "bad", .source = feed.source(), .frames_in_flight = 8});
  hanging.push(feed, 4);
  feed.end();
  yield_until("the begin of all frames", [&] {
    const PipelineStats stats = pipeline.stats();
    return stats.streams[0].read == 4 && stats.streams[0].waiting == 0;
  });
  hanging.first.open();
  hanging.entered.wait();
  EXPECT_GE(pipeline.give_up_calls(), 1u);
  EXPECT_EQ(pipeline.wait("bad").frames, 4);
  hanging.release.open();
  log_.await("has returned");
}

TEST_F(Deadline, GivesUpNothingInAStreamThatIsNotWatched) {
  Hanging hanging;
  Pipeline pipeline({make_capsule(detector_info("stuck", "person"), hanging.process())});
  FrameFeed feed;
  pipeline.open_stream({.id = "bad", .source = feed.source()});
  for (int i = 0; i < 2; ++i) feed.push(image());
  feed.end();
  hanging.entered.wait();
  EXPECT_EQ(pipeline.give_up_calls(), 0u);
  hanging.release.open();
  EXPECT_EQ(pipeline.wait("bad").errors, 0);
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
