// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/source.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

#include "sources/file_list.hpp"
#include "support/live_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Every frame has its own grey, 12 apart, so that frames can be told apart after any codec.
void make_video(const std::filesystem::path& path, int frames, double rate = 10,
                cv::Size size = {64, 48}) {
  cv::VideoWriter writer(path.string(), cv::CAP_FFMPEG,
                         path.extension() == ".mp4" ? cv::VideoWriter::fourcc('m', 'p', '4', 'v')
                                                    : cv::VideoWriter::fourcc('M', 'J', 'P', 'G'),
                         rate, size);
  ASSERT_TRUE(writer.isOpened());
  for (int i = 0; i < frames; ++i) writer.write(cv::Mat(size, CV_8UC3, cv::Scalar::all(12 * i)));
}

void make_image(const std::filesystem::path& path, int grey, cv::Size size = {16, 12}) {
  ASSERT_TRUE(cv::imwrite(path.string(), cv::Mat(size, CV_8UC3, cv::Scalar::all(grey))));
}

void make_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<Frame> read_all(Source& source) {
  std::vector<Frame> frames;
  while (std::optional<Frame> frame = source.read()) frames.push_back(*std::move(frame));
  return frames;
}

double grey(const Frame& frame) { return cv::mean(frame.image)[0]; }

class VideoFile : public testing::TestWithParam<const char*> {};

TEST_P(VideoFile, GivesEveryFrameWithItsIndexAndTimeInTheContainer) {
  const TemporaryFolder folder;
  const auto path = folder / GetParam();
  make_video(path, 20);
  const auto source = open_source(path.string());
  EXPECT_EQ(source->info().description, "file " + path.string());
  EXPECT_EQ(source->info().size, cv::Size(64, 48));
  EXPECT_DOUBLE_EQ(source->info().frames_per_second, 10);
  EXPECT_EQ(source->info().frames, 20);
  EXPECT_FALSE(source->info().live);
  const std::vector<Frame> frames = read_all(*source);
  ASSERT_EQ(frames.size(), 20u);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].index, static_cast<std::int64_t>(i));
    EXPECT_EQ(frames[i].pts, milliseconds(100 * i));
    EXPECT_EQ(frames[i].discontinuity, i == 0 ? Discontinuity::start : Discontinuity::none);
    EXPECT_EQ(frames[i].image.type(), CV_8UC3);
    EXPECT_NEAR(grey(frames[i]), 12.0 * static_cast<double>(i), 5.5)
        << "pixels must not change when later frames are read";
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, VideoFile, testing::Values("clip.avi", "clip.mp4"));

TEST(OpenSource, EndsWhenItIsInterrupted) {
  const TemporaryFolder folder;
  make_video(folder / "clip.avi", 5);
  const auto source = open_source((folder / "clip.avi").string());
  EXPECT_TRUE(source->read());
  source->interrupt();
  EXPECT_FALSE(source->read());
}

TEST(OpenSource, ReportsAClipThatBreaksOff) {
  const TemporaryFolder folder;
  make_video(folder / "whole.avi", 30);
  std::ifstream whole(folder / "whole.avi", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  make_file(folder / "cut.avi", std::string_view(bytes).substr(0, bytes.size() / 2));
  const KeptLog log;
  const auto frames = read_all(*open_source((folder / "cut.avi").string()));
  EXPECT_LT(frames.size(), 30u);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("cut.avi ended after"), HasSubstr("of 30 frames")));
}

TEST(OpenSource, RefusesAPathThatDoesNotExist) {
  EXPECT_THAT([] { open_source("/nowhere/clip.mp4"); },
              ThrowsError<SourceError>(ErrorCode::source_open,
                                       AllOf(HasSubstr("/nowhere/clip.mp4 does not exist"),
                                             HasSubstr("give a video file"))));
  EXPECT_THAT([] { open_source(""); },
              ThrowsError<SourceError>(ErrorCode::source_open, HasSubstr("no name")));
}

TEST(OpenSource, RefusesAFileThatIsNotAVideo) {
  const TemporaryFolder folder;
  make_file(folder / "notes.mp4", "these are notes, and no video at all");
  testing::internal::CaptureStderr();
  EXPECT_THAT([&] { open_source((folder / "notes.mp4").string()); },
              ThrowsError<SourceError>(ErrorCode::source_open,
                                       AllOf(HasSubstr((folder / "notes.mp4").string()),
                                             HasSubstr("cannot be opened as a video"))));
  testing::internal::GetCapturedStderr();
}

TEST(OpenSource, RefusesAFileWithoutAFrame) {
  const TemporaryFolder folder;
  make_file(folder / "empty.mp4", "");
  EXPECT_THAT([&] { open_source((folder / "empty.mp4").string()); },
              ThrowsError<SourceError>(ErrorCode::source_empty, HasSubstr("empty.mp4 is empty")));
  make_video(folder / "none.avi", 0);
  EXPECT_THROW(open_source((folder / "none.avi").string()), SourceError);
}

TEST(OpenSource, RefusesAMissingWebcamAndNamesTheOthers) {
  EXPECT_THAT(
      [] { open_source("987"); },
      ThrowsError<SourceError>(ErrorCode::source_open, AllOf(HasSubstr("webcam 987 does not exist"),
                                                             HasSubstr("this machine has"))));
}

TEST(OpenSource, RefusesAnUnreachableUrlAndHidesItsPassword) {
  // Port 1 of this machine refuses at once, with any network.
  EXPECT_THAT([] { open_source("http://user:secret@127.0.0.1:1/stream"); },
              ThrowsError<SourceError>(
                  ErrorCode::source_open,
                  AllOf(HasSubstr("http://user:***@127.0.0.1:1/stream cannot be opened"),
                        testing::Not(HasSubstr("secret")))));
}

TEST(ImageFolder, GivesItsImagesInNaturalOrder) {
  const TemporaryFolder folder;
  for (const int i : {10, 2, 1}) make_image(folder / ("shot" + std::to_string(i) + ".png"), 10 * i);
  make_file(folder / "readme.txt", "no image");
  make_file(folder / "._shot3.png", "no image either");
  const auto source = open_source(folder.path().string());
  EXPECT_EQ(source->info().frames, 3);
  EXPECT_EQ(source->info().size, cv::Size(16, 12));
  const std::vector<Frame> frames = read_all(*source);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(grey(frames[0]), 10);
  EXPECT_EQ(grey(frames[1]), 20);
  EXPECT_EQ(grey(frames[2]), 100);
  EXPECT_EQ(frames[0].discontinuity, Discontinuity::start);
  EXPECT_EQ(frames[2].index, 2);
  EXPECT_EQ(frames[2].pts, milliseconds(80)) << "taken as 25 a second";
}

TEST(ImageFolder, AllowsImagesOfDifferentSizes) {
  const TemporaryFolder folder;
  make_image(folder / "1.png", 1, {16, 12});
  make_image(folder / "2.png", 2, {32, 8});
  Pipeline pipeline({});
  const auto records = run(pipeline, {.source = open_source(folder.path().string())});
  ASSERT_EQ(records.size(), 2u);
  const nlohmann::json json = records[1];
  EXPECT_EQ(json.at("resolution"), nlohmann::json({{"width", 32}, {"height", 8}}));
}

TEST(ImageFolder, ConvertsEveryImageTo8BitBgr) {
  const TemporaryFolder folder;
  cv::imwrite((folder / "1.png").string(), cv::Mat(4, 4, CV_16UC1, cv::Scalar(40000)));
  cv::imwrite((folder / "2.png").string(), cv::Mat(4, 4, CV_8UC4, cv::Scalar(1, 2, 3, 4)));
  for (const Frame& frame : read_all(*open_source(folder.path().string())))
    EXPECT_EQ(frame.image.type(), CV_8UC3);
}

/// The JPEG with an EXIF segment that contains only the orientation.
std::string with_orientation(const std::vector<unsigned char>& jpeg, char orientation) {
  const char segment[] = {'\xFF', '\xE1',      0, 34, 'E', 'x', 'i', 'f', 0, 0,
                          'M',    'M',         0, 42, 0,   0,   0,   8,          // TIFF, big-endian
                          0,      1,           1, 18, 0,   3,   0,   0,   0, 1,  // one tag: 0x0112
                          0,      orientation, 0, 0,  0,   0,   0,   0};
  std::string bytes(jpeg.begin(), jpeg.end());
  return bytes.insert(2, segment, sizeof(segment));  // after the start-of-image marker
}

TEST(ImageFolder, TurnsImagesAsTheirExifOrientationSays) {
  const TemporaryFolder folder;
  cv::Mat image(12, 16, CV_8UC3, cv::Scalar::all(0));
  image(cv::Rect(0, 0, 8, 6)).setTo(cv::Scalar(30, 60, 200));
  std::vector<unsigned char> jpeg;
  ASSERT_TRUE(cv::imencode(".jpg", image, jpeg));
  const auto file = folder / "1.jpg";
  make_file(file, with_orientation(jpeg, 6));  // to be turned clockwise by a quarter
  cv::Mat turned;
  cv::rotate(cv::imdecode(jpeg, cv::IMREAD_COLOR), turned, cv::ROTATE_90_CLOCKWISE);
  for (const std::string& name : {file.string(), folder.path().string()}) {
    SCOPED_TRACE(name);
    const auto source = open_source(name);
    EXPECT_EQ(source->info().size, cv::Size(12, 16));
    const std::vector<Frame> frames = read_all(*source);
    ASSERT_EQ(frames.size(), 1u);
    ASSERT_EQ(frames[0].image.size(), turned.size());
    EXPECT_EQ(cv::norm(frames[0].image, turned, cv::NORM_INF), 0);
    EXPECT_EQ(cv::norm(frames[0].image, cv::imread(file.string()), cv::NORM_INF), 0);
  }
}

TEST(ImageFolder, NamesAnImageThatCannotBeRead) {
  const TemporaryFolder folder;
  make_image(folder / "1.png", 1);
  make_file(folder / "2.png", "no image");
  const auto source = open_source(folder.path().string());
  EXPECT_TRUE(source->read());
  EXPECT_THAT([&] { source->read(); },
              ThrowsError<SourceError>(ErrorCode::source_read,
                                       HasSubstr("image " + (folder / "2.png").string())));
}

TEST(ImageFolder, RefusesAFolderWithoutImages) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { open_source(folder.path().string()); },
              ThrowsError<SourceError>(ErrorCode::source_empty,
                                       AllOf(HasSubstr("has no images"), HasSubstr(".png"))));
}

TEST(ImageGlob, GivesTheFilesThatMatch) {
  const TemporaryFolder folder;
  for (const int i : {1, 2, 3}) make_image(folder / ("a" + std::to_string(i) + ".png"), i);
  make_image(folder / "b1.png", 9);
  EXPECT_EQ(read_all(*open_source((folder / "a*.png").string())).size(), 3u);
  EXPECT_THAT([&] { open_source((folder / "c*.png").string()); },
              ThrowsError<SourceError>(ErrorCode::source_empty, HasSubstr("no file matches")));
}

TEST(ImageGlob, IsNotExpandedIfAFileHasExactlyThatName) {
  const TemporaryFolder folder;
  make_image(folder / "shot[1].png", 7);
  make_image(folder / "shot1.png", 9);
  const auto frames = read_all(*open_source((folder / "shot[1].png").string()));
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(grey(frames[0]), 7);
}

TEST(NaturalOrder, ComparesNumbersAsNumbers) {
  std::vector<std::string> names{"a10",
                                 "a9b",
                                 "a9",
                                 "a09",
                                 "b1",
                                 "a",
                                 "a9a",
                                 "a123456789012345678901",
                                 "a123456789012345678900"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_THAT(names, ElementsAre("a", "a09", "a9", "a9a", "a9b", "a10", "a123456789012345678900",
                                 "a123456789012345678901", "b1"));
}

}  // namespace
}  // namespace vcap::test
