// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/sink.hpp"
#include "vcap/image/image.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>
#include <opencv2/videoio.hpp>

#include "support/file_size_limit.hpp"
#include "support/footage.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "support/video_pictures.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/image/annotator.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

FrameRecord record(std::int64_t index, cv::Size size = {64, 48}) {
  FrameRecord record{.stream_id = "a"};
  record.frame.image = cv::Mat(size, CV_8UC3, cv::Scalar::all(100));
  record.frame.index = index;
  return record;
}

std::vector<std::string> lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(JsonLinesSink, WritesOneRecordPerLine) {
  const TemporaryFolder folder;
  const auto sink = make_json_lines_sink(folder / "frames.jsonl");
  for (int i = 0; i < 3; ++i) sink->write(record(i));
  sink->close();
  const auto written = lines(folder / "frames.jsonl");
  ASSERT_THAT(written, SizeIs(3));
  EXPECT_EQ(nlohmann::json::parse(written[2]).at("frame_index"), 2);
}

TEST(JsonLinesSink, GivesTheFileItsNameOnlyWhenItIsClosed) {
  const TemporaryFolder folder;
  const auto sink = make_json_lines_sink(folder / "frames.jsonl");
  sink->write(record(0));
  EXPECT_FALSE(std::filesystem::exists(folder / "frames.jsonl"));
  sink->close();
  sink->close();
  EXPECT_THAT(folder.names(), ElementsAre("frames.jsonl"));
}

TEST(JsonLinesSink, LeavesItsRecordsInAPartIfItIsNotClosed) {
  const TemporaryFolder folder;
  make_json_lines_sink(folder / "empty.jsonl");
  make_json_lines_sink(folder / "frames.jsonl")->write(record(0));
  EXPECT_THAT(folder.names(), ElementsAre("frames.jsonl.part"));
  EXPECT_THAT(lines(folder / "frames.jsonl.part"), SizeIs(1));
}

TEST(JsonLinesSink, RefusesAPathThatAnotherOneWritesTo) {
  const TemporaryFolder folder;
  const auto first = make_json_lines_sink(folder / "frames.jsonl");
  EXPECT_THAT([&] { make_json_lines_sink(folder / "frames.jsonl"); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("another run")));
}

TEST(JsonLinesSink, KeepsAnOlderFileUntilTheNewOneIsComplete) {
  const TemporaryFolder folder;
  std::ofstream(folder / "frames.jsonl") << "old\n";
  auto sink = make_json_lines_sink(folder / "frames.jsonl");
  sink->write(record(0));
  EXPECT_THAT(lines(folder / "frames.jsonl"), ElementsAre("old"));
  sink->close();
  EXPECT_THAT(lines(folder / "frames.jsonl"), SizeIs(1));
  EXPECT_NE(lines(folder / "frames.jsonl")[0], "old");
}

TEST(JsonLinesSink, RefusesAFolderThatDoesNotExistAndAFolderAsAFile) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { make_json_lines_sink(folder / "no/frames.jsonl"); },
              ThrowsError<OutputError>(ErrorCode::output_open,
                                       AllOf(HasSubstr((folder / "no/frames.jsonl").string()),
                                             HasSubstr("create it first"))));
  EXPECT_THAT([&] { make_json_lines_sink(folder.path()); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("is a folder")));
}

TEST(JsonLinesSink, FailsWhenTheDeviceIsFull) {
  const auto sink = make_json_lines_sink("/dev/full");
  EXPECT_THAT([&] { sink->write(record(0)); },
              ThrowsError<OutputError>(
                  ErrorCode::output_write,
                  AllOf(HasSubstr("/dev/full"), HasSubstr("No space left on device"))));
  EXPECT_THROW(sink->close(), OutputError) << "close() must fail if the output is incomplete";
}

TEST(JsonLinesSink, RefusesRecordsAfterItsClose) {
  const TemporaryFolder folder;
  const auto sink = make_json_lines_sink(folder / "frames.jsonl");
  sink->close();
  EXPECT_THAT([&] { sink->write(record(0)); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("closed already")));
}

TEST(JsonLinesSink, WritesToStandardOutput) {
  testing::internal::CaptureStdout();
  const auto sink = make_json_lines_sink("-");
  sink->write(record(3));
  sink->close();
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("\"frame_index\":3"));
}

TEST(JsonLinesSink, CanBeSharedByStreams) {
  const TemporaryFolder folder;
  const std::shared_ptr<Sink> sink = make_json_lines_sink(folder / "frames.jsonl");
  Pipeline pipeline({make_detector("detector", "person", 3)});
  for (const char* id : {"a", "b", "c"})
    pipeline.open_stream({.id = id, .source = make_source(50), .sinks = {sink}});
  for (const char* id : {"a", "b", "c"}) pipeline.wait(id);
  sink->close();
  std::map<std::string, std::int64_t> next;
  for (const std::string& line : lines(folder / "frames.jsonl")) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.at("frame_index"), next[json.at("stream_id")]++);
  }
  EXPECT_THAT(next,
              ElementsAre(testing::Pair("a", 50), testing::Pair("b", 50), testing::Pair("c", 50)));
}

class AnnotatedVideoSink : public testing::TestWithParam<const char*> {};

TEST_P(AnnotatedVideoSink, WritesAClipWithItsNodesDrawn) {
  const TemporaryFolder folder;
  const auto path = folder / GetParam();
  const auto sink = make_annotated_video_sink(path, 12.5);
  for (int i = 0; i < 10; ++i) {
    FrameRecord one = record(i, {128, 96});
    one.objects.push_back(node_at("person", 40, 40));
    const cv::Mat before = one.frame.image.clone();
    sink->write(one);
    EXPECT_EQ(cv::norm(before, one.frame.image, cv::NORM_INF), 0) << "the frame was drawn on";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  sink->close();
  EXPECT_THAT(folder.names(), ElementsAre(GetParam()));
  cv::VideoCapture clip(path.string(), cv::CAP_FFMPEG);
  EXPECT_DOUBLE_EQ(clip.get(cv::CAP_PROP_FPS), 12.5);
  int frames = 0;
  for (cv::Mat image; clip.read(image); ++frames) {
    EXPECT_EQ(image.size(), cv::Size(128, 96));
    EXPECT_GT(cv::norm(image, cv::Mat(image.size(), CV_8UC3, cv::Scalar::all(100)), cv::NORM_INF),
              50)
        << "nothing was drawn";
  }
  EXPECT_EQ(frames, 10);
}

INSTANTIATE_TEST_SUITE_P(Forms, AnnotatedVideoSink,
                         testing::Values("clip.mp4", "clip.mkv", "clip.avi"));

/// Paints the whole image in a colour, and remembers the frames that it saw.
class Painter final : public Annotator {
 public:
  explicit Painter(std::vector<std::int64_t>& seen) : seen_(seen) {}
  std::vector<std::string> pictures() const override { return {"mask"}; }

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override {
    seen_.push_back(frame.index + static_cast<std::int64_t>(100 * nodes.size()));
    image.setTo(cv::Scalar::all(200));
  }

  std::vector<std::int64_t>& seen_;
};

TEST(AnnotatedVideo, ShowsWhatItsAnnotatorDraws) {
  const TemporaryFolder folder;
  std::vector<std::int64_t> seen;
  const auto sink =
      make_annotated_video_sink(folder / "clip.avi", 10, {}, std::make_unique<Painter>(seen));
  EXPECT_THAT(sink->pictures(), ElementsAre("mask"));
  for (int i = 0; i < 3; ++i) {
    FrameRecord one = record(i, {64, 48});
    one.objects.push_back(node_at("person", 20, 20));
    one.frame.is_null = i == 1;
    sink->write(one);
    EXPECT_EQ(one.frame.image.at<cv::Vec3b>(5, 5)[0], 100) << "the frame was drawn on";
  }
  sink->close();
  EXPECT_THAT(seen, ElementsAre(100, 102)) << "a null frame has nothing to draw on";
  cv::VideoCapture clip((folder / "clip.avi").string(), cv::CAP_FFMPEG);
  cv::Mat image;
  ASSERT_TRUE(clip.read(image));
  EXPECT_NEAR(image.at<cv::Vec3b>(24, 32)[0], 200, 8);
}

TEST(AnnotatedVideo, TakesPartsThatAProgramCombines) {
  const TemporaryFolder folder;
  const auto path = folder / "clip.avi";
  // [annotators]
  auto parts = std::make_unique<vcap::Annotators>();
  parts->add<vcap::ZoneAnnotator>(vcap::ZoneSettings{
      .zones = {{.name = "door", .outline = {{50, 200}, {200, 200}, {200, 300}, {50, 300}}}}});
  parts->add<vcap::TrailAnnotator>(vcap::TrailSettings{.length = std::chrono::seconds(5)});
  parts->add<vcap::BoxAnnotator>(vcap::BoxSettings{.shape = vcap::BoxSettings::Shape::corners,
                                                   .style = {.names = {"person"}}});
  parts->add<vcap::LabelAnnotator>();
  auto clip = vcap::make_annotated_video_sink(path, 10, {}, std::move(parts));
  // [/annotators]
  clip->write(record(0, {320, 320}));
  clip->close();
  cv::VideoCapture written(path.string(), cv::CAP_FFMPEG);
  cv::Mat image;
  ASSERT_TRUE(written.read(image));
  EXPECT_GT(std::abs(image.at<cv::Vec3b>(250, 50)[1] - 100), 20) << "the outline of the zone";
}

TEST(AnnotatedVideo, FitsFramesOfAnotherSizeAndWarnsOnce) {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  set_log_hook([&](LogLevel level, std::string_view message) {
    if (level >= LogLevel::warning) warnings.emplace_back(message);
  });
  const auto sink = make_annotated_video_sink(folder / "clip.avi", 10);
  sink->write(record(0, {64, 48}));
  sink->write(record(1, {100, 20}));
  sink->write(record(2, {8, 200}));
  sink->close();
  set_log_hook({});
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0], HasSubstr("from 64 × 48 to 100 × 20"));
  cv::VideoCapture clip((folder / "clip.avi").string(), cv::CAP_FFMPEG);
  cv::Mat image;
  ASSERT_TRUE(clip.read(image) && clip.read(image));
  EXPECT_EQ(image.size(), cv::Size(64, 48));
  EXPECT_NEAR(image.at<cv::Vec3b>(24, 32)[0], 100, 8) << "the picture in the middle";
  EXPECT_NEAR(image.at<cv::Vec3b>(4, 32)[0], 0, 8) << "black above it";
}

TEST(AnnotatedVideo, MayBeUsedByTheLogHookThatItWarns) {
  const TemporaryFolder folder;
  const auto fitting = make_annotated_video_sink(folder / "a.avi", 10);
  const auto empty = make_annotated_video_sink(folder / "b.avi", 10);
  int warnings = 0;
  set_log_hook([&](LogLevel level, std::string_view) {
    if (level < LogLevel::warning) return;
    ++warnings;
    fitting->allow_losses();
    empty->allow_losses();
  });
  fitting->write(record(0, {64, 48}));
  fitting->write(record(1, {100, 20}));
  empty->close();
  set_log_hook({});
  EXPECT_EQ(warnings, 2);
}

/// A record whose frame is grey, with a picture "shown" of that type and brightness.
FrameRecord with_picture(std::int64_t index, int type, double brightness) {
  FrameRecord one = record(index);
  one.frame.pts = std::chrono::milliseconds(100 * index);
  one.objects = {{.name = "box", .coords = rect_to_coords(cv::Rect2d(10, 10, 20, 20))}};
  one.frame.pictures.set("shown", cv::Mat(48, 64, type, cv::Scalar::all(brightness)));
  return one;
}

TEST(PictureVideo, ShowsThePictureAndNeverTheFrame) {
  for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4}) {
    const TemporaryFolder folder;
    const auto sink = make_picture_video_sink(folder / "clip.mp4", "shown", 10);
    EXPECT_FALSE(sink->needs_pixels());
    EXPECT_THAT(sink->pictures(), ElementsAre("shown"));
    sink->write(record(0));  // before the first picture
    sink->write(with_picture(1, type, 200));
    FrameRecord lacking = record(2);
    lacking.frame.pts = std::chrono::milliseconds(200);
    sink->write(lacking);
    FrameRecord failed = with_picture(3, type, 90);  // what it hides depends on this capsule
    failed.errors = {{.capsule = "detector", .code = "exception", .message = "failed"}};
    sink->write(failed);
    sink->write(with_picture(4, type, 20));
    sink->close();
    const std::vector<Frame> frames = frames_in(folder / "clip.mp4");
    ASSERT_THAT(frames, SizeIs(4));
    constexpr double kShown[] = {200, 200, 200, 20};
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_LT(
          mean_difference(frames[i].image, cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(kShown[i]))), 4)
          << "frame " << i;
  }
}

TEST(PictureVideo, RefusesPicturesThatAreNoneOfAClip) {
  const TemporaryFolder folder;
  const auto sink = make_picture_video_sink(folder / "clip.mp4", "shown", 10);
  EXPECT_THAT([&] { sink->write(with_picture(0, CV_32FC1, 1)); },
              ThrowsError<OutputError>(
                  ErrorCode::output_write,
                  AllOf(HasSubstr("picture \"shown\" is of type 32FC1"), HasSubstr("8UC3"))));
  EXPECT_THAT([&] { make_picture_video_sink(folder / "clip.mp4", "", 10); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("is empty")));
}

TEST(PictureVideo, IsNotCompleteAfterAPictureThatIsNoneOfAClip) {
  const TemporaryFolder folder;
  const auto sink = make_picture_video_sink(folder / "clip.mp4", "shown", 10);
  sink->write(with_picture(0, CV_8UC3, 200));
  EXPECT_THROW(sink->write(with_picture(1, CV_32FC1, 1)), OutputError);
  EXPECT_THAT([&] { sink->close(); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("is incomplete")));
  EXPECT_FALSE(std::filesystem::exists(folder / "clip.mp4"));
}

TEST(AnnotatedVideo, LeavesNoFileIfItHadNoFrame) {
  const TemporaryFolder folder;
  make_annotated_video_sink(folder / "a.mp4", 10);
  set_log_hook([](LogLevel, std::string_view) {});
  {
    const auto sink = make_annotated_video_sink(folder / "b.mp4", 10);
    EXPECT_NO_THROW(sink->close());
    EXPECT_THAT(folder.names(), IsEmpty()) << "the process may end before the sink is destroyed";
  }
  set_log_hook({});
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_P(AnnotatedVideoSink, LeavesAReadablePartIfItIsNotClosed) {
  const TemporaryFolder folder;
  {
    const auto sink = make_annotated_video_sink(folder / GetParam(), 10);
    for (int i = 0; i < 100; ++i) sink->write(record(i));
  }
  const std::string part = std::string(GetParam()) + ".part";
  EXPECT_THAT(folder.names(), ElementsAre(part));
  // Frames are 100 ms apart: all but those of one second and two in the encoder.
  EXPECT_GE(frames_in(folder / part).size(), 100u - 10 - 2);
}

TEST(AnnotatedVideo, RefusesWrongPathsAndRates) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { make_annotated_video_sink(folder / "clip.gif", 10); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr(".mp4, .mkv or .avi")));
  EXPECT_THAT([&] { make_annotated_video_sink(folder / "no/clip.mp4", 10); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("create it first")));
  for (const double rate : {-1., 1001., std::nan("")})
    EXPECT_THROW(make_annotated_video_sink(folder / "clip.mp4", rate), InvalidArgument);
  ASSERT_EQ(::mkfifo((folder / "pipe.mp4").c_str(), 0600), 0);
  EXPECT_THAT([&] { make_annotated_video_sink(folder / "pipe.mp4", 10); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("not a regular file")));
}

TEST(AnnotatedVideo, RefusesWrongCodecsAndQualitiesBeforeItMakesAFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      [&] { make_annotated_video_sink(folder / "clip.avi", 10, {.codec = VideoCodec::h265}); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("codec h265")));
  EXPECT_THAT([&] { make_annotated_video_sink(folder / "clip.mp4", 10, {.quality = 64}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("quality 64")));
  EXPECT_THAT(folder.names(), IsEmpty());
}

/// Frames of real footage; other tests of encoders use generated pictures.
std::vector<Frame> footage_frames(int count) {
  const auto source = open_source(footage().string());
  std::vector<Frame> frames;
  while (static_cast<int>(frames.size()) < count) frames.push_back(source->read().value());
  return frames;
}

TEST_P(AnnotatedVideoSink, LooksLikeItsFootageAtTheDefaultQuality) {
  const TemporaryFolder folder;
  const std::vector<Frame> frames = footage_frames(30);
  const auto sink = make_annotated_video_sink(folder / GetParam(), 10);
  for (const Frame& frame : frames) sink->write({.stream_id = "a", .frame = frame});
  sink->close();
  const std::vector<Frame> seen = frames_in(folder / GetParam());
  ASSERT_THAT(seen, SizeIs(30));
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(seen[i].pts, frames[i].pts);
    EXPECT_LT(mean_difference(seen[i].image, frames[i].image), 4) << "frame " << i;
    EXPECT_NEAR(cv::mean(seen[i].image)[1], cv::mean(frames[i].image)[1], 2) << "frame " << i;
  }
}

TEST(AnnotatedVideo, KeepsTheTimesOfALiveStream) {
  const TemporaryFolder folder;
  const std::vector<int> times{0, 33, 70, 2100, 2133, 9000, 9040};  // ms
  for (const char* name : {"clip.mp4", "clip.mkv"}) {
    const auto sink = make_annotated_video_sink(folder / name, 0);
    for (const int time : times) {
      FrameRecord one = record(0);
      one.frame.pts = std::chrono::seconds(100) + std::chrono::milliseconds(time);
      sink->write(one);
    }
    sink->close();
    std::vector<std::int64_t> seen;
    for (const Frame& frame : frames_in(folder / name))
      seen.push_back(std::chrono::round<std::chrono::milliseconds>(frame.pts).count());
    EXPECT_THAT(seen, testing::ElementsAreArray(times)) << name;
  }
}

TEST(AnnotatedVideo, RepeatsThePictureBeforeForANullFrame) {
  const TemporaryFolder folder;
  const auto sink = make_annotated_video_sink(folder / "clip.mp4", 10);
  FrameRecord null{.stream_id = "a"};
  null.frame.is_null = true;
  sink->write(null);  // there is no picture yet
  sink->write(record(0));
  sink->write(null);
  sink->close();
  const std::vector<Frame> seen = frames_in(folder / "clip.mp4");
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_LT(mean_difference(seen[0].image, seen[1].image), 1);
}

TEST_P(AnnotatedVideoSink, LacksOnlyTheFramesThatItRefusedIfLossesAreAllowed) {
  const TemporaryFolder folder;
  const auto sink = make_annotated_video_sink(folder / GetParam(), 10);
  sink->allow_losses();
  std::size_t written = 0;
  const auto write = [&] {
    FrameRecord noisy = record(0, {160, 120});
    cv::randu(noisy.frame.image, 0, 255);
    try {
      sink->write(noisy);
      ++written;
    } catch (const OutputError& error) {
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("removed")));
    }
  };
  {
    const FileSizeLimit limit(64 << 10);
    for (int i = 0; i < 60; ++i) write();
  }
  EXPECT_LT(written, 60u);
  for (int i = 0; i < 10; ++i) write();
  sink->close();
  EXPECT_THAT(frames_in(folder / GetParam()), SizeIs(written));
}

TEST(AnnotatedVideo, IsClosedOnce) {
  const TemporaryFolder folder;
  const auto sink = make_annotated_video_sink(folder / "clip.mp4", 10);
  sink->write(record(0));
  sink->close();
  EXPECT_NO_THROW(sink->close());
  EXPECT_THAT([&] { sink->write(record(1)); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("closed already")));
  EXPECT_THAT(frames_in(folder / "clip.mp4"), SizeIs(1));
}

TEST_P(AnnotatedVideoSink, KeepsAReadablePartOnAFullDisk) {
  const TemporaryFolder folder;
  const auto sink = make_annotated_video_sink(folder / GetParam(), 10);
  bool failed = false;
  {
    const FileSizeLimit limit(64 << 10);
    for (int i = 0; i < 80; ++i) {
      FrameRecord one = record(i, {160, 120});
      if (i >= 40) cv::randu(one.frame.image, 0, 255);  // does not fit
      try {
        sink->write(one);
      } catch (const OutputError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr(GetParam()), HasSubstr("File too large")));
        failed = true;
      }
    }
    EXPECT_TRUE(failed);
  }
  const std::string part = std::string(GetParam()) + ".part";
  EXPECT_THAT([&] { sink->close(); },
              ThrowsError<OutputError>(ErrorCode::output_write,
                                       AllOf(HasSubstr("kept in"), HasSubstr(part))))
      << "close() must fail although there is room now";
  EXPECT_THAT(folder.names(), ElementsAre(part));
  // Frames are 100 ms apart, and a fragment has those of a second.
  EXPECT_GE(frames_in(folder / part).size(), 40u - 10 - 2);
}

TEST(JsonLinesSink, KeepsEveryWholeLineOnAFullDisk) {
  const TemporaryFolder folder;
  int written = 0;
  {
    const auto sink = make_json_lines_sink(folder / "frames.jsonl");
    const FileSizeLimit limit(1000);
    EXPECT_THAT(
        [&] {
          for (; written < 100; ++written) sink->write(record(written));
        },
        ThrowsError<OutputError>(
            ErrorCode::output_write,
            AllOf(HasSubstr("free some space"), HasSubstr("kept in"), HasSubstr(".jsonl.part"))));
    EXPECT_THAT([&] { sink->close(); },
                ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("whole lines")));
  }
  EXPECT_THAT(folder.names(), ElementsAre("frames.jsonl.part"));
  const std::string text = read_file(folder / "frames.jsonl.part");
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(std::ranges::count(text, '\n'), written);
}

TEST(JsonLinesSink, SkipsRecordsThatDoNotFitIfLossesAreAllowed) {
  const TemporaryFolder folder;
  const auto sink = make_json_lines_sink(folder / "frames.jsonl");
  sink->allow_losses();
  sink->write(record(0));
  {
    const FileSizeLimit limit(200);
    for (int i = 1; i < 4; ++i) EXPECT_THROW(sink->write(record(i)), OutputError);
  }
  sink->write(record(4));
  sink->close();
  const auto written = lines(folder / "frames.jsonl");
  ASSERT_THAT(written, SizeIs(2));
  EXPECT_EQ(nlohmann::json::parse(written[0]).at("frame_index"), 0);
  EXPECT_EQ(nlohmann::json::parse(written[1]).at("frame_index"), 4);
}

TEST(JsonLinesSink, EndsTheLineOfAPartThatItCannotRemove) {
  testing::internal::CaptureStdout();
  const auto sink = make_json_lines_sink("-");
  sink->allow_losses();
  sink->write(record(0));
  {
    const FileSizeLimit limit(200);
    for (int i = 1; i < 4; ++i) EXPECT_THROW(sink->write(record(i)), OutputError);
  }
  sink->write(record(4));
  sink->write(record(5));
  sink->close();
  std::istringstream out(testing::internal::GetCapturedStdout());
  std::vector<nlohmann::json> read;
  for (std::string line; std::getline(out, line);)
    read.push_back(nlohmann::json::parse(line, nullptr, false));
  ASSERT_THAT(read, SizeIs(4));
  EXPECT_TRUE(read[1].is_discarded());
  EXPECT_EQ(read[2].at("frame_index"), 4);
  EXPECT_EQ(read[3].at("frame_index"), 5);
}

TEST(CallbackSink, HasNoStatsAndIgnoresAllowLosses) {
  const auto sink = make_callback_sink([](const FrameRecord&) {});
  sink->allow_losses();
  EXPECT_FALSE(sink->stats());
}

TEST(CallbackSink, NeedsAFunction) { EXPECT_THROW(make_callback_sink({}), InvalidArgument); }

}  // namespace
}  // namespace vcap::test
