// SPDX-License-Identifier: Apache-2.0
// Runs of jobs over clips, with capsules of this process.
#include "vcap/jobs/bulk.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/cores.hpp"
#include "jobs/bulk_helpers.hpp"
#include "media/decoder_threads.hpp"
#include "support/clip_packets.hpp"
#include "support/manual_clock.hpp"
#include "support/random_plan.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct CutCase {
  std::string name;
  int slices;
  int parallel;
};

class BulkCuts : public BulkTest, public testing::WithParamInterface<CutCase> {};

TEST_P(BulkCuts, GiveTheSameOutputsAsARunOfEachVideoAlone) {
  job_.slices = GetParam().slices;
  job_.parallel = GetParam().parallel;
  add_clip("long", 150);
  add_clip("short", 9);
  add_clip("one", 1);
  const Capsules capsules{make_detector("plain", "thing", 2), make_counter("recent", 4),
                          make_window_noter("window", Stencil{{-2, 0, 1}}), make_failing(13, 7)};

  const JobReport report = run(capsules);

  EXPECT_EQ(report.done, 3);
  EXPECT_EQ(outputs_in(job_.outputs.folder), outputs_of_single_runs(job_, capsules, folder_));
}

TEST_P(BulkCuts, EndEachVideoAfterTheMostFrames) {
  job_.slices = GetParam().slices;
  job_.parallel = GetParam().parallel;
  job_.max_frames = 40;
  add_clip("long", 150);
  add_clip("short", 9);
  // The window of the last frame ends with it, as at the end of a video.
  const Capsules capsules{make_counter("recent", 4),
                          make_window_noter("window", Stencil{{-2, 0, 1}})};

  std::map<std::string, std::int64_t> frames;
  run(capsules, {.on_video = [&](const auto& video) { frames[video.id] = video.frames; }});

  EXPECT_EQ(frames, (std::map<std::string, std::int64_t>{{"long", 40}, {"short", 9}}));
  EXPECT_EQ(outputs_in(job_.outputs.folder), outputs_of_single_runs(job_, capsules, folder_));
}

INSTANTIATE_TEST_SUITE_P(Bulk, BulkCuts,
                         testing::Values(CutCase{"Automatic", 0, 2}, CutCase{"Off", 1, 2},
                                         CutCase{"Three", 3, 3}, CutCase{"MoreThanFrames", 200, 4},
                                         CutCase{"OneWorker", 5, 1}),
                         [](const auto& test) { return test.param.name; });

TEST_F(BulkTest, RunsVideosWithUnboundedStateInOneGo) {
  add_clip("gate", 150);
  add_clip("yard", 150);
  const Capsules capsules{make_counter("all", std::nullopt)};
  const std::shared_ptr<TaskQueue> queue = make_in_process_queue({});

  run(capsules, {.queue = queue});

  EXPECT_EQ(queue->counts().done, 2u);
  EXPECT_EQ(outputs_in(job_.outputs.folder), outputs_of_single_runs(job_, capsules, folder_));
}

/// How many slices two workers make of all videos.
struct SliceCase {
  std::string name;
  int frames;
  int videos;
  int slices;
  bool clip = false;
};

class BulkSlices : public BulkTest, public testing::WithParamInterface<SliceCase> {};

TEST_P(BulkSlices, AreMadeOnlyIfTheySaveTime) {
  for (int i = 0; i < GetParam().videos; ++i)
    add_clip("clip" + std::to_string(i), GetParam().frames);
  job_.outputs.video = GetParam().clip;
  const std::shared_ptr<TaskQueue> queue = make_in_process_queue({});
  run({make_detector("plain", "thing")}, {.queue = queue});
  EXPECT_EQ(queue->counts(), (TaskQueue::Counts{.done = std::size_t(GetParam().slices)}));
}

INSTANTIATE_TEST_SUITE_P(Bulk, BulkSlices,
                         testing::Values(SliceCase{"OfAFewVideos", 160, 1, 4},
                                         SliceCase{"OfTwoEach", 160, 2, 4},
                                         SliceCase{"OfNoneOfMany", 160, 5, 5},
                                         SliceCase{"OfNoneThatIsShort", 40, 1, 1},
                                         SliceCase{"OfNoneWhoseClipIsWanted", 160, 1, 1, true}),
                         [](const auto& test) { return test.param.name; });

TEST_F(BulkTest, DecodesInNoMoreThreadsThanCores) {
  for (int i = 0; i < 4; ++i) add_clip("clip" + std::to_string(i), 200);
  job_.parallel = static_cast<int>(cores());
  job_.slices = 1;
  // With four cores or fewer, the thread that reads a video also decodes it.
  const int most = DecoderThreads::in_use() + (job_.parallel <= 4 ? 0 : job_.parallel);
  run({make_detector("plain", "thing")},
      {.on_record = [&](const FrameRecord&) { EXPECT_LE(DecoderThreads::in_use(), most); }});
}

TEST_F(BulkTest, WritesTheRequestedOutputs) {
  add_clip("gate", 12);
  job_.outputs.summary = job_.outputs.video = true;
  run({make_detector("plain", "thing", 2)});
  const Outputs outputs = outputs_in(job_.outputs.folder);
  EXPECT_THAT(outputs, SizeIs(3));
  EXPECT_EQ(outputs.at("gate.txt"),
            "video gate\n"
            "  frames           12\n"
            "  failed frames    0\n"
            "  objects          thing 24\n"
            "  with objects     12 frames (100.0 %)\n"
            "  encodings        0\n");
  EXPECT_EQ(open_source(job_.outputs.folder + "/gate.mp4")->info().frames, 12);
}

TEST_F(BulkTest, GivesEachVideoItsSettings) {
  add_clip("gate", 3);
  add_clip("yard", 3);
  job_.videos[0].config = {{"third", {{"line", 1}}}};
  job_.videos[1].config = {{"third", {{"line", 2}}}};
  job_.videos[1].capsules = {"second", "third"};
  const Capsules capsules{make_detector("first", "a"), make_detector("second", "b"),
                          make_recent(noting_info("third", "c", false), 2)};
  run(capsules);
  EXPECT_EQ(outputs_in(job_.outputs.folder), outputs_of_single_runs(job_, capsules, folder_));
  const Outputs outputs = outputs_in(job_.outputs.folder);
  EXPECT_THAT(outputs.at("yard.jsonl"), Not(HasSubstr("\"a\"")));
  // The note depends on the config.
  const auto note = [&](const std::string& name) {
    const std::string line = outputs.at(name).substr(0, outputs.at(name).find('\n'));
    return nlohmann::json::parse(line).at("objects").back().at("extra_data").at("note");
  };
  EXPECT_NE(note("gate.jsonl"), note("yard.jsonl"));
}

/// Ignores the first result of every task and releases the task, so that a worker gets it again.
class ForgetfulQueue final : public TaskQueue {
 public:
  bool put(std::string id, nlohmann::json payload) override {
    return queue_->put(std::move(id), std::move(payload));
  }
  std::optional<Lease> lease(Clock::duration time, std::stop_token stop) override {
    return queue_->lease(time, std::move(stop));
  }
  std::optional<Lease> try_lease(Clock::duration time) override { return queue_->try_lease(time); }
  bool renew(const Lease& lease, Clock::duration time) override {
    return queue_->renew(lease, time);
  }
  bool complete(const Lease& lease, nlohmann::json result) override {
    {
      const std::lock_guard lock(mutex_);
      if (!lost_.insert(lease.task).second) return queue_->complete(lease, std::move(result));
    }
    return queue_->release(lease);
  }
  bool fail(const Lease& lease, std::string reason) override {
    return queue_->fail(lease, std::move(reason));
  }
  bool release(const Lease& lease) override { return queue_->release(lease); }
  Counts counts() const override { return queue_->counts(); }
  bool wait_until_settled(std::stop_token stop) const override {
    return queue_->wait_until_settled(std::move(stop));
  }
  std::optional<nlohmann::json> result(const std::string& id) const override {
    return queue_->result(id);
  }
  std::vector<Failure> failures() const override { return queue_->failures(); }
  std::size_t lost() const { return lost_.size(); }

 private:
  const std::unique_ptr<TaskQueue> queue_ = make_in_process_queue({});
  std::mutex mutex_;
  std::set<std::string> lost_;
};

TEST_F(BulkTest, StoresResultsOnceWhenTasksAreHandedOutAgain) {
  add_clip("gate", 90);
  add_clip("yard", 9);
  job_.slices = 3;
  std::atomic<int> calls = 0;
  const Capsules capsules{
      make_capsule(detector_info("d", "x"), [&](const Frame&, auto, auto&, auto&) {
        ++calls;
        return DetectionNodes::all();
      })};
  const auto queue = std::make_shared<ForgetfulQueue>();
  std::atomic<int> told = 0;
  const JobReport report =
      run(capsules, {.queue = queue, .on_video = [&](const auto&) { ++told; }});
  EXPECT_EQ(report.done, 2);
  EXPECT_EQ(told, 2);
  EXPECT_EQ(queue->lost(), 6u);
  EXPECT_EQ(calls, 99) << "stored slices were made again";
  EXPECT_EQ(outputs_in(job_.outputs.folder), outputs_of_single_runs(job_, capsules, folder_));
}

TEST_F(BulkTest, ListsFailedVideosWithEveryReasonAndRunsTheOthers) {
  add_clip("gate", 5);
  add_broken("wrong");
  add_clip("yard", 5);
  job_.attempts = 2;
  std::vector<std::string> told;

  const JobReport report = run({make_detector("plain", "thing")},
                               {.on_video = [&](const auto& video) { told.push_back(video.id); }});

  EXPECT_EQ(report.done, 2);
  EXPECT_EQ(report.left, 0);
  ASSERT_THAT(report.failed, SizeIs(1));
  EXPECT_EQ(report.failed[0].id, "wrong");
  EXPECT_THAT(report.failed[0].reasons,
              ElementsAre(AllOf(HasSubstr("attempt 1"), HasSubstr("cannot be opened")),
                          AllOf(HasSubstr("attempt 2"), HasSubstr("cannot be opened"))));
  EXPECT_THAT(told, SizeIs(3));
  EXPECT_EQ(told.back(), "wrong");
  EXPECT_THAT(outputs_in(job_.outputs.folder), SizeIs(2));
}

TEST_F(BulkTest, RetriesAFailedSlice) {
  add_clip("gate", 60);
  job_.slices = 3;
  const Capsules capsules{make_counter("recent", 4)};
  std::mutex mutex;
  std::set<std::int64_t> failed;
  const auto fail_once = [&](const FrameRecord& record) {
    const std::lock_guard lock(mutex);
    if (record.frame.index % 20 == 11 && failed.insert(record.frame.index).second)
      throw std::runtime_error("no room");
  };
  const JobReport report = run(capsules, {.on_record = fail_once});
  EXPECT_THAT(failed, SizeIs(3));
  EXPECT_EQ(report.done, 1);
  EXPECT_EQ(outputs_in(job_.outputs.folder), outputs_of_single_runs(job_, capsules, folder_));
}

/// Hangs at frame 7, on the first attempts, until it is released.
struct Stuck {
  Latch entered{}, release{};
  std::atomic<int> hangs = 1, left = 0;
  std::shared_ptr<Capsule> capsule() {
    return make_capsule(detector_info("stuck", "thing"),
                        [this](const Frame& frame, const auto&, const auto&, auto&) {
                          if (frame.index == 7 && hangs-- > 0) {
                            entered.open();
                            release.wait();
                            ++left;
                          }
                          return DetectionNodes::all();
                        });
  }
  /// Moves time to the deadline of the call that hangs.
  std::jthread let_pass(ManualClock& clock, std::chrono::nanoseconds deadline) {
    return std::jthread([this, &clock, deadline] {
      entered.wait();
      clock.await_sleeper(clock.now() + deadline);
      clock.advance(deadline);
    });
  }
  void end() {
    release.open();
    yield_until("the return of the call", [this] { return left == 1; });
  }
};

TEST_F(BulkTest, FailsAnAttemptInWhichACapsuleExceedsItsDeadline) {
  constexpr auto kDeadline = std::chrono::seconds(5);
  add_clip("gate", 12);
  job_.slices = 1;
  job_.attempts = 1;
  const auto clock = std::make_shared<ManualClock>();
  Stuck stuck;
  const auto passing = stuck.let_pass(*clock, kDeadline);
  const JobReport report = run({stuck.capsule()}, {.clock = clock, .capsule_deadline = kDeadline});
  ASSERT_THAT(report.failed, SizeIs(1));
  EXPECT_THAT(report.failed[0].reasons,
              ElementsAre(AllOf(HasSubstr("frame "),
                                HasSubstr("capsule stuck: it has taken longer than 5.0 s"))));
  EXPECT_EQ(report.calls_left, 1u);
  EXPECT_THAT(outputs_in(job_.outputs.folder), IsEmpty());
  stuck.end();
}

TEST_F(BulkTest, GivesTheSameOutputsAfterADeadlineWasExceeded) {
  constexpr auto kDeadline = std::chrono::seconds(5);
  add_clip("gate", 12);
  job_.slices = 1;
  const auto clock = std::make_shared<ManualClock>();
  Stuck stuck;
  const auto passing = stuck.let_pass(*clock, kDeadline);
  const JobReport report =
      run({stuck.capsule()},
          {.clock = clock, .capsule_deadline = kDeadline, .first_call_deadline = kDeadline});
  EXPECT_EQ(report.done, 1);
  stuck.end();
  Stuck sound{.hangs = 0};
  EXPECT_EQ(outputs_in(job_.outputs.folder),
            outputs_of_single_runs(job_, {sound.capsule()}, folder_));
}

/// The capsule returns after its deadline, before the frame that follows. So no record shows it.
TEST_F(BulkTest, FailsAnAttemptInWhoseWarmUpACapsuleExceedsItsDeadline) {
  constexpr auto kDeadline = std::chrono::seconds(5);
  add_clip("gate", 40);
  job_.slices = 2;
  job_.parallel = 1;
  job_.attempts = 1;
  CapsuleInfo info = detector_info("slow", "thing");
  info.stream_state = make_stream_state<CountingState>();
  info.warmup = 4;
  std::atomic<int> calls = 0;
  Latch entered, release, returned;
  const auto capsule =
      make_capsule(std::move(info), [&](const Frame& frame, const auto&, const auto&, auto&) {
        if (frame.index == 17 && ++calls == 2) {  // before the second slice, which begins at 21
          entered.open();
          release.wait();
        }
        return DetectionNodes::all();
      });
  set_log_hook([&](LogLevel, std::string_view line) {
    if (line.find("has returned") != std::string_view::npos) returned.open();
    if (line.find("has taken longer") == std::string_view::npos) return;
    release.open();
    returned.wait();
  });
  const auto clock = std::make_shared<ManualClock>();
  const std::jthread passing([&] {
    entered.wait();
    clock->await_sleeper(clock->now() + kDeadline);
    clock->advance(kDeadline);
  });
  const JobReport report = run({capsule}, {.clock = clock, .capsule_deadline = kDeadline});
  set_log_hook({});
  ASSERT_THAT(report.failed, SizeIs(1));
  EXPECT_THAT(report.failed[0].reasons,
              ElementsAre(HasSubstr("exceeded its deadline over 1 frame of the warm-up")));
}

TEST(BulkDeadlines, AreRefusedIfTheyAreImpossible) {
  using std::chrono::seconds;
  for (const auto& [call, first] :
       {std::pair(seconds(-1), seconds(0)), {seconds(0), seconds(5)}, {seconds(5), seconds(4)}})
    EXPECT_THAT(
        ([call = call, first = first] {
          run_job({}, {.capsule_deadline = call, .first_call_deadline = first});
        }),
        ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("_deadline of a job")));
}

TEST_F(BulkTest, KeepsTheStoredSlicesOfAFailedVideo) {
  add_clip("gate", 60);
  job_.slices = 3;
  job_.attempts = 1;
  const Capsules capsules{make_counter("recent", 4)};
  const auto fail_late = [](const FrameRecord& record) {
    if (record.frame.index == 50) throw std::runtime_error("no room");
  };
  EXPECT_THAT(run(capsules, {.on_record = fail_late}).failed, SizeIs(1));
  EXPECT_THAT(outputs_in(job_.outputs.folder), IsEmpty());

  std::atomic<std::int64_t> records = 0;
  JobKept kept;
  EXPECT_EQ(run(capsules, {.on_record = [&](const auto&) { ++records; },
                           .on_resume = [&](const JobKept& found) { kept = found; }})
                .done,
            1);
  EXPECT_EQ(records, 22) << "slices begin at 0, 21 and 38, where warm-ups begin at keyframes";
  EXPECT_THAT(kept.videos, IsEmpty());
  EXPECT_EQ(kept.slices, 2);
  EXPECT_EQ(kept.frames, 38);
  EXPECT_EQ(outputs_in(job_.outputs.folder), outputs_of_single_runs(job_, capsules, folder_));
}

TEST_F(BulkTest, ReportsFailedFramesAlsoInALaterRun) {
  add_clip("gate", 10);
  for (const auto outcome : {JobVideoReport::Outcome::done, JobVideoReport::Outcome::done_before}) {
    std::vector<JobVideoReport> told;
    JobKept kept;
    run({make_failing(2, 1)}, {.on_video = [&](const auto& video) { told.push_back(video); },
                               .on_resume = [&](const JobKept& found) { kept = found; }});
    EXPECT_THAT(kept.videos, SizeIs(outcome == JobVideoReport::Outcome::done ? 0 : 1));
    EXPECT_EQ(kept.slices, 0);
    ASSERT_THAT(told, SizeIs(1));
    EXPECT_EQ(told[0].outcome, outcome);
    EXPECT_EQ(told[0].frames, 10);
    EXPECT_EQ(told[0].failed_frames, 5);
    EXPECT_EQ(told[0].first_error, "frame 1: capsule failing: not this one");
  }
}

TEST_F(BulkTest, ResumesAfterAStopAtAnyRecord) {
  add_clip("gate", 24);
  add_clip("yard", 8);
  job_.slices = 4;
  job_.parallel = 1;
  const Capsules capsules{make_counter("recent", 2), make_detector("plain", "thing")};
  const Outputs expected = outputs_of_single_runs(job_, capsules, folder_);
  for (int last = 1; last <= 32; last += 3) {
    SCOPED_TRACE("stopped at record " + std::to_string(last));
    job_.outputs.folder = folder_ / ("out" + std::to_string(last));
    std::stop_source stop;
    std::atomic<int> records = 0;
    const auto stop_at_last = [&](const auto&) {
      if (++records == last) stop.request_stop();
    };
    const JobReport before = run(capsules, {.on_record = stop_at_last}, stop.get_token());
    EXPECT_EQ(before.done + before.left, 2);
    EXPECT_THAT(before.failed, IsEmpty());

    std::atomic<int> rest = 0;
    const JobReport after = run(capsules, {.on_record = [&](const auto&) { ++rest; }});
    EXPECT_EQ(after.done, before.left);
    EXPECT_EQ(after.done_before, before.done);
    EXPECT_EQ(outputs_in(job_.outputs.folder), expected);
    // All complete slices were stored. The third cut of the first video is moved, so that the
    // warm-up begins at a keyframe.
    constexpr std::array kEnds{0, 6, 12, 19, 24, 26, 28, 30, 32};
    EXPECT_EQ(rest, 32 - *(std::ranges::lower_bound(kEnds, last) - 1));
  }
}

TEST_F(BulkTest, DoesNothingWhenItIsStoppedBeforehand) {
  add_clip("gate", 5);
  std::stop_source stop;
  stop.request_stop();
  const JobReport report = run({make_detector("plain", "thing")}, {}, stop.get_token());
  EXPECT_EQ(report.left, 1);
  EXPECT_THAT(outputs_in(job_.outputs.folder), IsEmpty());
}

/// Stops the run and fails at random records.
class Mishaps {
 public:
  Mishaps(unsigned seed, std::stop_source& stop) : dice_(seed), stop_(stop), left_(dice_() % 150) {}

  void befall(const FrameRecord&) {
    const std::lock_guard lock(mutex_);
    if (left_-- == 0) stop_.request_stop();
    if (dice_() % 80 == 0) throw std::runtime_error("no luck");
  }

 private:
  std::mutex mutex_;
  std::mt19937 dice_;
  std::stop_source& stop_;
  std::int64_t left_;
};

TEST_F(BulkTest, GivesTheSameOutputsAfterRandomStopsAndFailures) {
  add_clip("long", 64);
  add_clip("short", 5);
  add_clip("middle", 30);
  job_.attempts = 2;
  const Capsules capsules{make_counter("recent", 3), make_window_noter("window", Stencil{{-1, 1}})};
  const Outputs expected = outputs_of_single_runs(job_, capsules, folder_);
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    job_.outputs.folder = folder_ / ("out" + std::to_string(round));
    job_.slices = std::array{0, 1, 3, 7}[round % 4];
    job_.parallel = 1 + static_cast<int>(round % 5);
    JobReport report;
    for (unsigned runs = 0; report.done + report.done_before < 3 && runs < 100; ++runs) {
      std::stop_source stop;
      Mishaps mishaps(100 * round + runs, stop);
      report = run(capsules, {.on_record = [&](const auto& record) { mishaps.befall(record); }},
                   stop.get_token());
    }
    EXPECT_EQ(outputs_in(job_.outputs.folder), expected);
  }
}

TEST_F(BulkTest, RunsADamagedVideoInOneGo) {
  add_clip("gate", 60);
  destroy(job_.videos[0].source, packet_of(job_.videos[0].source, 22));
  job_.slices = 4;
  const Capsules capsules{make_counter("recent", 4)};
  std::vector<JobVideoReport> reports;
  const auto keep = [&](const JobVideoReport& report) { reports.push_back(report); };
  EXPECT_EQ(run(capsules, {.on_video = keep}).done, 1);
  const Outputs expected = outputs_of_single_runs(job_, capsules, folder_);
  EXPECT_EQ(outputs_in(job_.outputs.folder), expected);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].broken_pictures.count, 1);
  EXPECT_EQ(reports[0].broken_pictures.first.size(), 1u);
}

TEST_F(BulkTest, QueuesTasksOnlyForVideosInProgress) {
  for (int i = 0; i < 12; ++i) add_clip("clip" + std::to_string(i), 2);
  const std::shared_ptr<TaskQueue> queue = make_in_process_queue({});
  const auto look = [&](const auto&) {
    const TaskQueue::Counts counts = queue->counts();
    EXPECT_LE(counts.waiting + counts.leased, 2u);
  };
  EXPECT_EQ(run({make_detector("plain", "thing")}, {.queue = queue, .on_record = look}).done, 12);
}

}  // namespace
}  // namespace vcap::test
