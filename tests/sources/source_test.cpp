// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/source.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

#include "files/file_list.hpp"
#include "support/live_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/sources/random_access.hpp"

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

TEST(OpenSource, WritesTimesWithoutAnExponent) {
  const TemporaryFolder folder;
  make_video(folder / "clip.avi", 5);
  EXPECT_THAT(
      [&] {
        open_source((folder / "clip.avi").string(), {.start = std::chrono::seconds(100'000)});
      },
      ThrowsError<SourceError>(ErrorCode::source_empty, HasSubstr("no frame from 100000.0 s")));
}

TEST(OpenSource, SaysThatAHostIsNotKnown) {
  for (const std::string scheme : {"rtsp", "http"})
    EXPECT_THAT(
        [&] { open_source(scheme + "://no..such..host/stream"); },
        ThrowsError<SourceError>(ErrorCode::source_open,
                                 AllOf(HasSubstr("its host \"no..such..host\" is not known: "),
                                       testing::Not(HasSubstr("Input/output error")))))
        << scheme;
}

TEST(OpenSource, RefusesStandardInput) {
  EXPECT_THAT([] { open_source("-"); },
              ThrowsError<SourceError>(ErrorCode::source_open,
                                       HasSubstr("does not read videos from standard input")));
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

std::vector<std::string> source_files(const std::string& source,
                                      const SourceOptions& options = {}) {
  std::vector<std::string> files;
  for (const Frame& frame : read_all(*open_source(source, options)))
    files.push_back(frame.source_file);
  return files;
}

TEST(SourceFile, IsTheImagesPathBelowTheSource) {
  const TemporaryFolder folder;
  for (const char* const name : {"cat/2.png", "cat/10.png", "dog/1.png"}) {
    std::filesystem::create_directories((folder / name).parent_path());
    make_image(folder / name, 0);
  }
  make_file(folder / "cat/3.png", "no image");
  EXPECT_THAT(source_files(folder / "cat"), ElementsAre("2.png", "10.png"));
  EXPECT_THAT(source_files(folder / "dog/1.png"), ElementsAre("1.png"));
  EXPECT_THAT(source_files(folder / "*/?.png"), ElementsAre("cat/2.png", "dog/1.png"));
  EXPECT_THAT(source_files(folder / "cat", {.sampler = Sampler::gather({2}), .loop = 2}),
              ElementsAre("10.png", "10.png"));
}

TEST(SourceFile, IsEmptyForAVideoAndANullElement) {
  const TemporaryFolder folder;
  make_video(folder / "a.avi", 2);
  EXPECT_THAT(source_files(folder / "a.avi"), ElementsAre("", ""));
  make_image(folder / "1.png", 0);
  EXPECT_THAT(source_files(folder / "1.png", {.sampler = Sampler::repeat_null(2)}),
              ElementsAre("1.png", ""));
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

/// Ten images, of which 0, 4, 5 and 9 are broken.
class BrokenImages : public testing::Test {
 protected:
  BrokenImages() {
    for (int i = 0; i < 10; ++i) {
      const auto path = folder_ / (std::to_string(i) + ".png");
      if (i % 5 == 0 || i % 5 == 4)
        make_file(path, "no image");
      else
        make_image(path, 10 * i);
    }
  }

  const TemporaryFolder folder_;
  const std::string name_ = folder_.path().string();
};

TEST_F(BrokenImages, AreSkippedCountedAndLogged) {
  const KeptLog log;
  const auto source = open_source(name_);
  const std::vector<Frame> frames = read_all(*source);
  ASSERT_EQ(frames.size(), 6u);
  const std::vector<int> greys{10, 20, 30, 60, 70, 80};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(grey(frames[i]), greys[i]);
    EXPECT_EQ(frames[i].index, static_cast<std::int64_t>(i));
    EXPECT_EQ(frames[i].pts, milliseconds(4 * greys[i])) << "the time of its place in the folder";
    EXPECT_EQ(frames[i].discontinuity, i == 0   ? Discontinuity::start
                                       : i == 3 ? Discontinuity::gap
                                                : Discontinuity::none);
  }
  EXPECT_EQ(source->broken_pictures().count, 4);
  EXPECT_THAT(source->broken_pictures().first, ElementsAre("0.png", "4.png", "5.png", "9.png"));
  EXPECT_THAT(log.text(),
              AllOf(HasSubstr("images in " + name_ + ": the picture 4.png is skipped: "),
                    HasSubstr("5.png")));
}

TEST_F(BrokenImages, CountAgainInEachLoopButAreNamedOnce) {
  const auto source = open_source(name_, {.loop = 2});
  EXPECT_EQ(read_all(*source).size(), 12u);
  EXPECT_EQ(source->broken_pictures().count, 8);
  EXPECT_EQ(source->broken_pictures().first.size(), 4u);
}

TEST_F(BrokenImages, BeforeTheStartDoNotCount) {
  const auto source = open_source(name_, {.start = milliseconds(200)});
  EXPECT_EQ(grey(source->read().value()), 60);
  EXPECT_THAT(source->broken_pictures().first, ElementsAre("5.png"));
}

TEST_F(BrokenImages, BetweenThoseOfAStrideAreNotRead) {
  const auto source = open_source(name_, {.start = milliseconds(40), .stride = 5});
  const std::vector<Frame> frames = read_all(*source);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(grey(frames[0]), 10);
  EXPECT_EQ(grey(frames[1]), 60);
  EXPECT_EQ(source->broken_pictures().count, 0);
}

TEST_F(BrokenImages, ThatAreSampledShiftTheRowsAfterThem) {
  const KeptLog log;
  const auto source = open_source(name_, {.sampler = Sampler::gather({1, 4, 5})});
  std::vector<double> greys;
  for (const Frame& frame : read_all(*source)) greys.push_back(grey(frame));
  EXPECT_THAT(greys, ElementsAre(10, 70, 80)) << "rows 4 and 5 of those that can be decoded";
  EXPECT_THAT(log.text(), HasSubstr("4.png cannot be read"));
}

TEST_F(BrokenImages, AreNamedByRandomAccess) {
  const auto access = open_source(name_)->random_access();
  ASSERT_TRUE(access);
  EXPECT_EQ(grey(access->open_at(6)->read().value()), 60);
  EXPECT_THAT([&] { access->open_at(4); },
              ThrowsError<SourceError>(ErrorCode::source_not_as_indexed,
                                       HasSubstr("image " + (folder_ / "4.png").string())));
}

TEST_F(BrokenImages, AreReportedByAStreamWithAndWithoutSlices) {
  for (const std::size_t slices : {1u, 3u}) {
    SCOPED_TRACE(slices);
    Pipeline pipeline({});
    pipeline.open_stream({.id = "shots", .source = open_source(name_), .slices = slices});
    const StreamReport report = pipeline.wait("shots");
    EXPECT_EQ(report.failure.value_or(""), "");
    EXPECT_EQ(report.frames, 6);
    EXPECT_EQ(report.broken_pictures.count, 4);
    EXPECT_THAT(report.broken_pictures.first, ElementsAre("0.png", "4.png", "5.png", "9.png"));
  }
}

TEST_F(BrokenImages, AreInTheStatisticsOfAStream) {
  Pipeline pipeline({});
  pipeline.open_stream({.id = "shots", .source = open_source(name_), .pull = true});
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(pipeline.next("shots"));
  EXPECT_FALSE(pipeline.next("shots"));
  const PipelineStats stats = pipeline.stats();
  EXPECT_EQ(stats.streams.at(0).broken_pictures.count, 4);
  const nlohmann::json json = stats;
  EXPECT_EQ(json["streams"][0]["broken_pictures"]["first"][1], "4.png");
}

TEST_F(BrokenImages, AreAnErrorIfThereAreNoOthers) {
  for (int i = 0; i < 10; ++i) make_file(folder_ / (std::to_string(i) + ".png"), "no image");
  EXPECT_THAT([&] { open_source(name_); },
              ThrowsError<SourceError>(
                  ErrorCode::source_empty,
                  HasSubstr("images in " + name_ +
                            " has no picture that can be decoded; broken: "
                            "10 (0.png, 1.png, 2.png, 3.png, 4.png, and 5 more); repair")));
  const std::string one = (folder_ / "1.png").string();
  EXPECT_THAT([&] { open_source(one); },
              ThrowsError<SourceError>(ErrorCode::source_empty, HasSubstr("image " + one)));
}

TEST_F(BrokenImages, HaveNamesThatAreTextWhateverTheirBytes) {
  make_file(folder_ / "9\xff\x1b.png", "no image");
  const auto source = open_source(name_);
  read_all(*source);
  EXPECT_EQ(source->broken_pictures().first.back(), "9\uFFFD\\x1b.png");
  EXPECT_NO_THROW(static_cast<void>(nlohmann::json(source->broken_pictures()).dump()));
}

TEST(ImageFolder, RefusesAFolderWithoutImages) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { open_source(folder.path().string()); },
              ThrowsError<SourceError>(ErrorCode::source_empty,
                                       AllOf(HasSubstr("has no images"), HasSubstr(".png"))));
}

TEST(ImageFolder, SaysWhatToDoWithAFolderOfVideos) {
  const TemporaryFolder folder;
  make_file(folder / "gate.MP4", "a video");
  make_file(folder / "yard.mkv", "another");
  EXPECT_THAT([&] { open_source(folder.path().string()); },
              ThrowsError<SourceError>(ErrorCode::source_empty,
                                       AllOf(HasSubstr("has no images, but 2 videos"),
                                             HasSubstr("run the folder as a job"))));
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
