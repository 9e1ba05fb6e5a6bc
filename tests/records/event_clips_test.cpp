// SPDX-License-Identifier: Apache-2.0
// The clips of events (EventSinkSettings::clips).
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/bounded_wait.hpp"
#include "support/clip_writer.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "support/video_pictures.hpp"
#include "vcap/base/log.hpp"
#include "vcap/records/event_record.hpp"
#include "vcap/records/event_sink.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

constexpr std::int64_t kRate = 10;  // frames per second
const cv::Size kPicture{160, 120};

EventRules visits() {
  return {.unit = EventRules::Unit::pixels,
          .zones = {{.name = "yard", .polygon = {{80, 0}, {160, 0}, {160, 120}, {80, 120}}}},
          .rules = {{.name = "comes", .what = EnterRule{.zone = "yard"}}}};
}

/// People are in the yard in frames of these ranges, the second number excluded.
using Visits = std::vector<std::pair<std::int64_t, std::int64_t>>;

FrameRecord frame_with(const Visits& people, std::int64_t index, bool with_pixels = true) {
  FrameRecord record{.stream_id = "gate", .resolution = kPicture};
  record.frame.index = index;
  record.frame.pts = nanoseconds(index * 1'000'000'000 / kRate);
  if (index == 0) record.frame.discontinuity = Discontinuity::start;
  if (with_pixels) record.frame.image = picture_with_a_box(kPicture, static_cast<int>(index));
  for (std::size_t i = 0; i < people.size(); ++i) {
    const bool is_inside = index >= people[i].first && index < people[i].second;
    const double y = 30 + 20 * static_cast<double>(i);
    record.objects.push_back(
        {.name = "person",
         .coords = rect_to_coords(cv::Rect2d(is_inside ? 120 : 30, y, 10, 10)),
         .track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf" + std::to_string(i))});
  }
  return record;
}

class EventClips : public testing::Test {
 protected:
  EventClips() {
    std::filesystem::create_directory(clips_);
    set_log_hook([this](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning) log_ += std::string(text) + '\n';
    });
  }
  ~EventClips() override { set_log_hook({}); }

  std::unique_ptr<Sink> make_sink(EventClipSettings clips) const {
    clips.folder = clips_;
    return make_event_sink(path_, visits(), {.clips = std::move(clips)});
  }
  /// The ends in the journal.
  std::vector<EventRecord> ends() const {
    std::vector<EventRecord> ends;
    for (const EventRecord& record : read_event_journal(path_).records)
      if (record.phase == EventChange::Phase::end) ends.push_back(record);
    return ends;
  }
  std::string clip(const EventRecord& record) const { return clips_ + '/' + record.clip; }
  /// Expects the clip to have the source's pictures of these frames, the last one included.
  void expect_frames(const EventRecord& record, std::int64_t first, std::int64_t last) const {
    ASSERT_FALSE(record.clip.empty());
    const std::vector<Frame> frames = frames_in(clip(record));
    ASSERT_EQ(frames.size(), static_cast<std::size_t>(last - first + 1));
    ASSERT_TRUE(record.clip_start);
    EXPECT_EQ(record.clip_start->count(), first * 1'000'000'000 / kRate);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::int64_t number = first + static_cast<std::int64_t>(i);
      EXPECT_LE(std::chrono::abs(frames[i].pts + *record.clip_start -
                                 nanoseconds(number * 1'000'000'000 / kRate)),
                1ms);
      EXPECT_LT(
          mean_difference(frames[i].image, picture_with_a_box(kPicture, static_cast<int>(number))),
          4)
          << "frame " << number;
    }
  }
  void write(Sink& sink, const Visits& people, std::int64_t first, std::int64_t end) const {
    for (std::int64_t i = first; i < end; ++i) sink.write(frame_with(people, i));
  }
  /// The same with pictures of noise: each, encoded, has more than kLessThanAPicture bytes.
  void write_noise(Sink& sink, const Visits& people, std::int64_t first, std::int64_t end) const {
    for (std::int64_t i = first; i < end; ++i) {
      FrameRecord record = frame_with(people, i);
      record.frame.image = cv::Mat(kPicture, CV_8UC3);
      cv::randu(record.frame.image, 0, 256);
      sink.write(record);
    }
  }
  static constexpr std::uintmax_t kLessThanAPicture = 3000;

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "events.jsonl").string();
  const std::string clips_ = (folder_ / "clips").string();
  std::string log_;
};

TEST_F(EventClips, ShowWhatACameraSawBeforeAndAfter) {
  const auto sink = make_sink({.pre_roll = 2s, .post_roll = 1s});
  EXPECT_TRUE(sink->needs_pixels());
  const Visits people{{40, 60}};
  write(*sink, people, 0, 41);
  const auto begin = read_event_journal(path_).records.at(0);
  EXPECT_EQ(begin.clip, begin.event.id.to_string() + ".mp4");
  EXPECT_TRUE(std::filesystem::exists(clip(begin) + ".part")) << "while it is written";
  write(*sink, people, 41, 71);
  EXPECT_FALSE(std::filesystem::exists(clip(begin))) << "frame 70 belongs to it, and 71 may too";
  write(*sink, people, 71, 72);
  EXPECT_TRUE(std::filesystem::exists(clip(begin))) << "is complete when the post-roll has passed";
  sink->close();
  ASSERT_THAT(ends(), SizeIs(1));
  expect_frames(ends()[0], 20, 70);
  EXPECT_FALSE(ends()[0].clip_cut);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(EventClips, BeginAndEndWithTheStream) {
  const auto sink = make_sink({});
  const Visits people{{3, 100}};
  write(*sink, people, 0, 30);
  sink->close();
  ASSERT_THAT(ends(), SizeIs(1));
  EXPECT_EQ(ends()[0].event.reason, EventEnd::stream_end);
  expect_frames(ends()[0], 0, 29);
  EXPECT_FALSE(ends()[0].clip_cut);
}

TEST_F(EventClips, AreSharedByEventsThatOverlap) {
  const auto sink = make_sink({.pre_roll = 1s, .post_roll = 1s});
  const Visits people{{20, 30}, {35, 50}, {90, 95}};
  write(*sink, people, 0, 120);
  sink->close();
  ASSERT_THAT(ends(), SizeIs(3));
  EXPECT_EQ(ends()[0].clip, ends()[1].clip) << "the second begins in the post-roll of the first";
  expect_frames(ends()[1], 10, 60);
  EXPECT_NE(ends()[2].clip, ends()[1].clip);
  expect_frames(ends()[2], 80, 105);
}

TEST_F(EventClips, AreCutAtTheLongest) {
  const auto sink = make_sink({.pre_roll = 1s, .post_roll = 1s, .longest = 4s});
  const Visits people{{20, 100}, {40, 45}};
  write(*sink, people, 0, 110);
  sink->close();
  ASSERT_THAT(ends(), SizeIs(2));
  EXPECT_EQ(ends()[0].event.begin.frame_index, 40);
  EXPECT_FALSE(ends()[0].clip_cut) << "it has a clip of its own, as the other's half is over";
  expect_frames(ends()[0], 30, 55);
  EXPECT_TRUE(ends()[1].clip_cut);
  expect_frames(ends()[1], 10, 49);
}

TEST_F(EventClips, SayThatThePreRollDidNotFitIntoMemory) {
  const auto sink = make_sink({.pre_roll = 3s, .post_roll = 0s, .pre_roll_bytes = 1});
  write(*sink, {{40, 45}}, 0, 60);
  sink->close();
  ASSERT_THAT(ends(), SizeIs(1));
  EXPECT_TRUE(ends()[0].clip_cut);
  expect_frames(ends()[0], 40, 45);
  EXPECT_THAT(log_, HasSubstr("stream gate: the pictures before an event do not fit into 1 bytes"));
}

TEST_F(EventClips, DoNotShowWhatWasBeforeANewBegin) {
  const auto sink = make_sink({.pre_roll = 5s, .post_roll = 5s});
  write(*sink, {{10, 15}}, 0, 20);
  write(*sink, {{5, 10}}, 0, 12);
  sink->close();
  ASSERT_THAT(ends(), SizeIs(2));
  expect_frames(ends()[0], 0, 19);
  expect_frames(ends()[1], 0, 11);
}

TEST_F(EventClips, OfAStoredVideoAreCutWithoutPixels) {
  const auto source = folder_ / "source.mp4";
  write_clip(source, {.frames = 120, .milliseconds = 100, .options = b_frames(false)});
  const auto sink =
      make_sink({.pre_roll = 2s, .post_roll = 1s, .files = {{"gate", source.string()}}});
  const Visits people{{40, 60}, {100, 130}};
  for (std::int64_t i = 0; i < 61; ++i) sink->write(frame_with(people, i, false));
  ASSERT_THAT(ends(), SizeIs(1));
  ASSERT_FALSE(ends()[0].clip.empty());
  EXPECT_TRUE(std::filesystem::exists(clip(ends()[0]))) << "is there before the end is written";
  EXPECT_THAT(read_event_journal(path_).records.at(0).clip, IsEmpty());
  EXPECT_EQ(ends()[0].clip_start, 1700ms) << "a keyframe at every 17th frame";
  const std::vector<Frame> all = frames_in(source);
  const std::vector<Frame> frames = frames_in(clip(ends()[0]));
  ASSERT_GE(frames.size(), 54u);  // 1.7 s to 7 s
  EXPECT_LE(frames.size(), 58u);
  for (std::size_t i = 0; i < 54; ++i)
    EXPECT_EQ(mean_difference(frames[i].image, all[17 + i].image), 0) << i;
  for (std::int64_t i = 61; i < 120; ++i) sink->write(frame_with(people, i, false));
  sink->close();
  ASSERT_THAT(ends(), SizeIs(2));
  EXPECT_EQ(frames_in(clip(ends()[1])).size(), 120u - 68) << "up to the end of the video";
}

TEST_F(EventClips, OfAStoredVideoAreCutAtTheLongest) {
  const auto source = folder_ / "source.mp4";
  write_clip(source, {.frames = 120, .milliseconds = 100, .options = b_frames(false)});
  const auto sink = make_sink(
      {.pre_roll = 1s, .post_roll = 1s, .longest = 3s, .files = {{"gate", source.string()}}});
  for (std::int64_t i = 0; i < 100; ++i) sink->write(frame_with({{27, 90}}, i, false));
  sink->close();
  ASSERT_THAT(ends(), SizeIs(1));
  EXPECT_TRUE(ends()[0].clip_cut);
  EXPECT_GE(frames_in(clip(ends()[0])).size(), 31u);
  EXPECT_LE(frames_in(clip(ends()[0])).size(), 34u);
}

TEST_F(EventClips, ThatCannotBeCutFromTheFileAreEncoded) {
  const std::string text = folder_.write("source.txt", "no video").string();
  const auto sink = make_sink({.pre_roll = 1s, .post_roll = 1s, .files = {{"gate", text}}});
  write(*sink, {{20, 30}}, 0, 60);
  sink->close();
  ASSERT_THAT(ends(), SizeIs(1));
  expect_frames(ends()[0], 10, 40);
}

TEST_F(EventClips, ThatCannotBeWrittenDoNotLoseTheEvent) {
  for (const bool losses_allowed : {false, true}) {
    log_.clear();
    std::filesystem::remove(path_);
    std::filesystem::create_directories(clips_);
    const auto sink = make_sink({.pre_roll = 1s, .post_roll = 1s});
    if (losses_allowed) sink->allow_losses();
    write(*sink, {{20, 25}}, 0, 20);
    std::filesystem::remove_all(clips_);
    if (losses_allowed)
      write(*sink, {{20, 25}}, 20, 40);
    else
      EXPECT_THAT(
          [&] {
            write(*sink, {{20, 25}}, 20, 21);
          },
          ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("clips")));
    sink->close();
    ASSERT_THAT(ends(), SizeIs(1));
    EXPECT_THAT(ends()[0].clip, IsEmpty());
    EXPECT_THAT(log_, HasSubstr("1 clip of events missing or incomplete"));
    EXPECT_EQ(log_.find("such clips of events are missing") != std::string::npos, losses_allowed);
    const SinkStats stats = sink->stats().value();
    EXPECT_THAT(stats.lost_clips, ElementsAre(Pair("missing", 1)));
    EXPECT_THAT(stats.last_failure.value(), HasSubstr(clips_));
    EXPECT_EQ(stats.written, losses_allowed ? 40u : 21u);
  }
}

TEST_F(EventClips, OnAFullDiskDoNotLoseTheEvent) {
  const auto sink = make_sink({.pre_roll = 1s, .post_roll = 5s});
  sink->allow_losses();
  const Visits people{{20, 60}};
  write_noise(*sink, people, 0, 20);
  {
    const FileSizeLimit limit(kLessThanAPicture);
    write_noise(*sink, people, 20, 100);
  }
  sink->close();
  EXPECT_THAT(read_event_journal(path_).records.at(0).clip, IsEmpty());
  ASSERT_THAT(ends(), SizeIs(1));
  EXPECT_THAT(ends()[0].clip, IsEmpty()) << "the disk has no picture of it";
  EXPECT_FALSE(ends()[0].clip_start);
  EXPECT_TRUE(std::filesystem::is_empty(clips_));
  EXPECT_THAT(log_, HasSubstr("1 clip of events missing or incomplete"));
  EXPECT_THAT(sink->stats()->lost_clips, ElementsAre(Pair("missing", 1)));
}

TEST_F(EventClips, KeepTheirNamesIfTheDiskGetsFull) {
  // The second event is open at that time, and shares the clip.
  const Visits people{{20, 30}, {40, 120}};
  const auto sink = make_sink({.pre_roll = 1s, .post_roll = 60s});
  sink->allow_losses();
  write(*sink, people, 0, 80);
  ASSERT_THAT(ends(), SizeIs(1));
  ASSERT_FALSE(ends()[0].clip.empty());
  const std::string part = clip(ends()[0]) + ".part";
  {
    const FileSizeLimit limit(std::filesystem::file_size(part));
    write(*sink, people, 80, 115);
  }
  EXPECT_FALSE(std::filesystem::exists(part));
  const std::vector<Frame> frames = frames_in(clip(ends()[0]));
  EXPECT_GE(frames.size(), 50u) << "from frame 10 to a second before frame 80";
  EXPECT_LT(mean_difference(frames[0].image, picture_with_a_box(kPicture, 10)), 4);
  EXPECT_THAT(sink->stats()->lost_clips, ElementsAre(Pair("incomplete", 1)));
  EXPECT_THAT(log_, HasSubstr("such clips of events are missing or incomplete"));
  write(*sink, people, 115, 130);
  sink->close();
  ASSERT_THAT(ends(), SizeIs(2));
  EXPECT_FALSE(ends()[0].clip_cut) << "not known at its end";
  EXPECT_EQ(ends()[1].clip, ends()[0].clip);
  EXPECT_TRUE(ends()[1].clip_cut);
  EXPECT_THAT(log_, HasSubstr("1 clip of events missing or incomplete"));
}

TEST_F(EventClips, ThatAreLostAfterTheEndOfTheEventAreCounted) {
  const auto sink = make_sink({.pre_roll = 1s, .post_roll = 2s});
  sink->allow_losses();
  const Visits people{{20, 25}};
  write(*sink, people, 0, 30);
  ASSERT_THAT(ends(), SizeIs(1));
  std::filesystem::remove_all(clips_);
  write(*sink, people, 30, 60);
  EXPECT_THAT(sink->stats()->lost_clips, ElementsAre(Pair("missing", 1)));
  EXPECT_THAT(log_, HasSubstr(ends()[0].clip));
  sink->close();
  EXPECT_THAT(log_, HasSubstr("1 clip of events missing or incomplete"));
}

TEST_F(EventClips, HaveAPictureOnTheDiskAsSoonAsAnEventNamesThem) {
  const auto sink = make_sink({.pre_roll = 1s, .post_roll = 1s});
  sink->allow_losses();
  write_noise(*sink, {{20, 1000}}, 0, 21);
  const std::string part = clip(read_event_journal(path_).records.at(0)) + ".part";
  {
    const FileSizeLimit limit(std::filesystem::file_size(part));
    sink->close();
  }
  ASSERT_THAT(ends(), SizeIs(1));
  EXPECT_EQ(ends()[0].event.reason, EventEnd::stream_end);
  ASSERT_FALSE(ends()[0].clip.empty());
  EXPECT_TRUE(ends()[0].clip_cut) << "known before the end is written";
  EXPECT_GE(frames_in(clip(ends()[0])).size(), 1u);
  EXPECT_THAT(sink->stats()->lost_clips, ElementsAre(Pair("incomplete", 1)));
}

TEST_F(EventClips, ThatLackTheirPicturesAtTheEndOfTheStreamAreNotInTheEndOfTheEvent) {
  const auto sink = make_sink({.pre_roll = 1s, .post_roll = 1s});
  sink->allow_losses();
  write(*sink, {{20, 1000}}, 0, 21);
  std::filesystem::remove_all(clips_);
  sink->close();
  ASSERT_THAT(ends(), SizeIs(1));
  EXPECT_THAT(ends()[0].clip, IsEmpty());
  EXPECT_THAT(sink->stats()->lost_clips, ElementsAre(Pair("missing", 1)));
}

TEST_F(EventClips, RefuseWrongSettings) {
  const auto expect_refused = [&](EventClipSettings clips, const char* why) {
    EXPECT_THAT([&] { make_sink(clips); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(why)));
  };
  expect_refused({.pre_roll = -1s}, "pre_roll is -1.0 s");
  expect_refused({.post_roll = 25h}, "post_roll is 90000.0 s");
  expect_refused({.longest = 9s}, "at least pre_roll + post_roll");
  expect_refused({.pre_roll_bytes = 0}, "pre_roll_bytes is 0");
  EXPECT_THAT([&] { make_event_sink(path_, visits(), {.clips = {.folder = clips_ + "/x"}}); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("create it first")));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(EventClips, AreInTheRecord) {
  EventRecord record{.stream_id = "s", .phase = EventChange::Phase::end, .event = {.rule = "r"}};
  record.event.reason = EventEnd::left;
  record.clip = "a.mp4";
  record.clip_start = 3s;
  record.clip_cut = true;
  const nlohmann::json json = record;
  EXPECT_EQ(json.at("clip"), "a.mp4");
  EXPECT_EQ(json.at("clip_start_ns"), 3'000'000'000);
  EXPECT_EQ(json.at("clip_cut"), true);
  EXPECT_EQ(json.get<EventRecord>(), record);
}

/// Writes frames until the clip of the event has pictures on the disk; then waits for its end.
[[noreturn]] void write_a_clip_until_killed(const EventClipSettings& clips, const std::string& path,
                                            const Visits& people) {
  try {
    const auto sink = make_event_sink(path, visits(), {.clips = clips});
    for (std::int64_t i = 0; i < 100; ++i) sink->write(frame_with(people, i));
    std::filesystem::create_directory(path + ".reached");
    while (true) ::pause();
  } catch (...) {
    ::_exit(1);
  }
}

/// Kills a process that has written 100 frames.
void kill_a_writer(const EventClipSettings& clips, const std::string& path, const Visits& people) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) write_a_clip_until_killed(clips, path, people);
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (!std::filesystem::exists(path + ".reached")) {
    if (std::chrono::steady_clock::now() > end) fail_wait("100 frames");
    std::this_thread::sleep_for(1ms);
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(EventClips, OfAKilledRunGetTheirNamesWhenTheJournalIsOpened) {
  const EventClipSettings clips{.folder = clips_, .pre_roll = 1s, .post_roll = 60s};
  kill_a_writer(clips, path_, {{20, 30}, {50, 1000}});
  make_event_sink(path_, visits(), {.clips = clips})->close();
  ASSERT_THAT(ends(), SizeIs(2));
  EXPECT_EQ(ends()[1].event.reason, EventEnd::interrupted);
  EXPECT_TRUE(ends()[1].clip_cut);
  for (const EventRecord& record : ends()) {
    ASSERT_FALSE(record.clip.empty());
    const std::vector<Frame> frames = frames_in(clip(record));
    EXPECT_GE(frames.size(), 70u) << "all but the last second, and two pictures";
    EXPECT_LT(mean_difference(frames[0].image, picture_with_a_box(kPicture, 10)), 4);
  }
}

TEST_F(EventClips, ThatAreNotThereAreNotInTheEndOfAnInterruptedEvent) {
  const EventClipSettings clips{.folder = clips_, .pre_roll = 1s, .post_roll = 1s};
  kill_a_writer(clips, path_, {{20, 1000}});
  const std::string name = read_event_journal(path_).records.at(0).clip;
  ASSERT_FALSE(name.empty());
  std::filesystem::remove(clips_ + '/' + name + ".part");
  make_event_sink(path_, visits(), {.clips = clips})->close();
  ASSERT_THAT(ends(), SizeIs(1));
  EXPECT_THAT(ends()[0].clip, IsEmpty());
  EXPECT_FALSE(ends()[0].clip_start);
}

}  // namespace
}  // namespace vcap::test
