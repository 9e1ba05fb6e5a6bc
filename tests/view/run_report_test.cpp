// SPDX-License-Identifier: Apache-2.0
// Reports that are made while a run goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <random>

#include <opencv2/core.hpp>

#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/view/report_sink.hpp"
#include "view/track_thumbnails.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const cv::Size kPicture{640, 480};

FrameRecord frame_with_track(std::int64_t index, const Uuid& track) {
  FrameRecord record{.stream_id = "gate", .resolution = kPicture};
  record.frame.index = index;
  record.frame.pts = 100ms * index;
  record.frame.image = cv::Mat(kPicture, CV_8UC3, cv::Scalar(10, 100, 200));
  record.objects = {{.name = "person", .coords = rect_to_coords(cv::Rect2d(10, 10, 60, 120))}};
  record.objects[0].track_id = track;
  return record;
}

RunDescription description() {
  RunDescription run{.facts = {{"vcap", "1.2.3"}}, .plan = "1. finder\n"};
  RunDescription::RunCapsule& capsule = run.capsules.emplace_back();
  capsule.name = "finder";
  capsule.version = 7;
  capsule.devices = {"CPU:0", "CPU:1"};
  capsule.options = {{"threshold", "0.5"}};
  capsule.calls = 12;
  capsule.call_ns.add(3'000'000);
  RunDescription::RunStream& stream = run.streams.emplace_back();
  stream.source = "gate.mp4";
  stream.report.id = "gate";
  stream.report.frames = 50;
  stream.report.elapsed = 10s;
  stream.report.drops = {{"overload", 3}};
  stream.report.failure = "the camera is gone";
  stream.report.latency_ns.add(40'000'000);
  run.notes = {"records lost to a.jsonl: full 2"};
  return run;
}

TEST(ReportSink, WritesItsFileWhenItIsClosed) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "report.html").string();
  ReportSink sink(path);
  for (int i = 0; i < 3; ++i) sink.write(frame_with_track(i, Uuid()));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(path + ".part"));
  EXPECT_THAT([&] { ReportSink other(path); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("report.html")));
  sink.close();
  EXPECT_THAT(test::read_file(path),
              AllOf(HasSubstr("3 records of 1 stream"), HasSubstr("data:image/jpeg;base64,/9j/")));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  sink.write(frame_with_track(3, Uuid()));
  sink.set_run(description());
  sink.close();
}

TEST(ReportSink, LeavesNoFileIfItIsNotClosed) {
  const test::TemporaryFolder folder;
  {
    ReportSink sink((folder / "report.html").string());
    sink.write(frame_with_track(0, Uuid()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
}

TEST(ReportSink, LinksIntoAClipThatItDoesNotRead) {
  const test::TemporaryFolder folder;
  ReportSink sink((folder / "report.html").string());
  sink.write(frame_with_track(0, Uuid()));
  sink.set_link("gate", "none.mp4");
  sink.set_link("yard", "none.mp4");
  sink.close();
  EXPECT_THAT(test::read_file(folder / "report.html"), HasSubstr("href=\"./none.mp4#t=0.0\""));
}

TEST(Report, SaysWhatRan) {
  Report report;
  report.add(frame_with_track(0, Uuid()));
  EXPECT_THAT(report.html(), Not(HasSubstr("What ran")));
  report.set_run(description());
  EXPECT_THAT(
      report.html(),
      AllOf(
          HasSubstr("<h2>What ran</h2>"), HasSubstr("1.2.3"),
          HasSubstr("<td class=\"name\">finder</td><td class=\"number\">7</td><td>CPU:0, CPU:1</td>"
                    "<td>threshold = 0.5</td><td class=\"number\">12</td>"),
          HasSubstr("1. finder"), HasSubstr("ended early: the camera is gone"),
          HasSubstr("<td>gate.mp4</td><td class=\"number\">50</td>"
                    "<td class=\"number\">5.0</td><td class=\"number\">3</td>"),
          HasSubstr("records lost to a.jsonl: full 2")));
}

TEST(Report, ShowsMarkupInWhatRanAsText) {
  const std::string hostile = "<script>alert(1)</script>\"'&\x1b[2J\xff";
  RunDescription run = description();
  run.facts = {{hostile, hostile}};
  run.plan = hostile;
  run.notes = {hostile};
  run.capsules[0].name = hostile;
  run.capsules[0].devices = {hostile};
  run.capsules[0].options = {{hostile, hostile}};
  run.streams[0].source = hostile;
  run.streams[0].report.id = hostile;
  run.streams[0].report.failure = hostile;
  run.streams[0].options = {{hostile, hostile}};
  Report report;
  report.set_run(run);
  EXPECT_THAT(report.html(), AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\x1b")),
                                   Not(HasSubstr("\xff")), HasSubstr("&lt;script&gt;")));
}

class TrackThumbnailsTest : public testing::Test {
 protected:
  Uuid next_track() { return Uuid::random(random_); }
  /// In a frame of its own.
  void see(const Uuid& track, std::chrono::nanoseconds dwell, double side = 40) {
    thumbnails_.begin(image_);
    thumbnails_.see(track, {0, 0, side, side}, kPicture, dwell);
  }

  const cv::Mat image_ = cv::Mat(kPicture, CV_8UC3, cv::Scalar::all(90));
  std::mt19937_64 random_{3};
  TrackThumbnails thumbnails_;
};

TEST_F(TrackThumbnailsTest, TakeAPictureOfEachTrackAtMostTwoAFrame) {
  const std::vector<Uuid> tracks{next_track(), next_track(), next_track()};
  thumbnails_.begin(image_);
  for (const Uuid& track : tracks) thumbnails_.see(track, {0, 0, 20, 20}, kPicture, 0s);
  EXPECT_THAT(thumbnails_.of(tracks[1]), StartsWith("data:image/jpeg;base64,"));
  EXPECT_THAT(thumbnails_.of(tracks[2]), IsEmpty());
  see(tracks[2], 1s);
  EXPECT_THAT(thumbnails_.of(tracks[2]), Not(IsEmpty()));
}

TEST_F(TrackThumbnailsTest, TakeAnotherPictureOnlyIfTheBoxHasGrownByHalf) {
  const Uuid track = next_track();
  see(track, 0s, 40);
  const std::string first = thumbnails_.of(track);
  see(track, 1s, 44);
  EXPECT_EQ(thumbnails_.of(track), first);
  see(track, 2s, 60);
  EXPECT_NE(thumbnails_.of(track), first);
}

TEST_F(TrackThumbnailsTest, KeepTheLongestTracksIfThereAreTooMany) {
  const Uuid longest = next_track();
  see(longest, 100s);
  std::vector<Uuid> others;
  for (std::size_t i = 0; i < 3 * TrackThumbnails::kMost; ++i) {
    others.push_back(next_track());
    see(others.back(), 1s);
  }
  std::size_t kept = 0;
  for (const Uuid& track : others) kept += thumbnails_.of(track).empty() ? 0 : 1;
  EXPECT_LT(kept, TrackThumbnails::kMost);
  EXPECT_THAT(thumbnails_.of(longest), Not(IsEmpty()));
}

TEST_F(TrackThumbnailsTest, AreNotTakenOutsideThePictureOrWithoutOne) {
  const Uuid track = next_track();
  thumbnails_.begin({});
  thumbnails_.see(track, {0, 0, 9, 9}, kPicture, 0s);
  thumbnails_.begin(image_);
  thumbnails_.see(track, {900, 900, 950, 950}, kPicture, 0s);
  EXPECT_THAT(thumbnails_.of(track), IsEmpty());
}

}  // namespace
}  // namespace vcap
