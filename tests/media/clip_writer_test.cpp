// SPDX-License-Identifier: Apache-2.0
#include "media/clip_writer.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "support/video_pictures.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

const cv::Size kSize{160, 120};

struct Kind {
  const char* file;
  VideoCodec codec;
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << to_string(kind.codec) << " in " << kind.file;
}

std::vector<Kind> kinds() {
  using enum VideoCodec;
  return {{"a.mp4", h264},  {"a.mp4", h265},  {"a.mp4", vp9},  {"a.mp4", av1}, {"a.mp4", mpeg4},
          {"a.mkv", h264},  {"a.mkv", h265},  {"a.mkv", vp9},  {"a.mkv", av1}, {"a.mkv", mpeg4},
          {"a.mkv", mjpeg}, {"a.avi", mpeg4}, {"a.avi", mjpeg}};
}

std::string name_of(const testing::TestParamInfo<Kind>& info) {
  return std::string(to_string(info.param.codec)) + "_" +
         std::filesystem::path(info.param.file).extension().string().substr(1);
}

/// Writes pictures at these times, and completes the clip.
void write_clip_at(const std::filesystem::path& path, const std::vector<nanoseconds>& times,
                   const VideoEncoding& encoding = {}, cv::Size size = kSize, double rate = 25) {
  OutputFile file(path);
  ClipWriter clip(file, clip_format(path, encoding), size, rate);
  for (std::size_t i = 0; i < times.size(); ++i)
    clip.write(picture_with_a_box(size, static_cast<int>(i)), times[i]);
  clip.finish();
  file.commit();
}

std::vector<nanoseconds> evenly(int frames, milliseconds period = milliseconds(40)) {
  std::vector<nanoseconds> times;
  for (int i = 0; i < frames; ++i) times.push_back(i * period);
  return times;
}

std::vector<nanoseconds> times_in(const std::filesystem::path& path) {
  std::vector<nanoseconds> times;
  for (const Frame& frame : frames_in(path)) times.push_back(frame.pts);
  return times;
}

/// Expects the times, to half the unit of each container.
void expect_times(const std::vector<nanoseconds>& actual,
                  const std::vector<nanoseconds>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_LE(std::chrono::abs(actual[i] - expected[i]), std::chrono::microseconds(500))
        << "picture " << i << " is at " << actual[i].count() << " ns, not " << expected[i].count();
}

class ClipOfAKind : public testing::TestWithParam<Kind> {};

TEST_P(ClipOfAKind, HasEveryPictureAtItsTime) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();

  write_clip_at(folder / name, evenly(80), {.codec = codec});

  EXPECT_THAT(folder.names(), testing::ElementsAre(name));
  const std::vector<Frame> frames = frames_in(folder / name);
  ASSERT_THAT(frames, SizeIs(80));
  for (int i = 0; i < 80; ++i) {
    const Frame& frame = frames[static_cast<std::size_t>(i)];
    EXPECT_LE(std::chrono::abs(frame.pts - i * milliseconds(40)), std::chrono::microseconds(1));
    EXPECT_LT(mean_difference(frame.image, picture_with_a_box(kSize, i)), 3) << "picture " << i;
  }
}

TEST_P(ClipOfAKind, GrowsByALineIfItsSizeIsOdd) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  const cv::Size odd{161, 119};

  write_clip_at(folder / name, evenly(5), {.codec = codec}, odd);

  const std::vector<Frame> frames = frames_in(folder / name);
  ASSERT_THAT(frames, SizeIs(5));
  for (int i = 0; i < 5; ++i) {
    const cv::Mat& image = frames[static_cast<std::size_t>(i)].image;
    ASSERT_EQ(image.size(), cv::Size(162, 120));
    const cv::Mat picture = picture_with_a_box(odd, i);
    EXPECT_LT(mean_difference(image(cv::Rect({}, odd)), picture), 3) << "picture " << i;
    EXPECT_LT(mean_difference(image.col(161).rowRange(0, 119), picture.col(160)), 6)
        << "the last column is repeated in picture " << i;
  }
}

TEST_P(ClipOfAKind, IsReadableWhileItIsWritten) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  OutputFile file(folder / name);
  ClipWriter clip(file, clip_format(folder / name, {.codec = codec}), kSize, 25);
  for (int i = 0; i < 200; ++i) clip.write(picture_with_a_box(kSize, i), i * milliseconds(40));

  const std::vector<Frame> frames = frames_in(file.written_at());

  // All frames except those of one second (.avi does not buffer these) and two in the encoder.
  EXPECT_GE(frames.size(), std::string(name) == "a.avi" ? 198u : 173u);
  for (std::size_t i = 0; i < frames.size(); ++i)
    EXPECT_LT(mean_difference(frames[i].image, picture_with_a_box(kSize, static_cast<int>(i))), 3)
        << "picture " << i;
}

TEST_P(ClipOfAKind, IsBetterAndLargerAtALowerQualityNumber) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  std::vector<std::uintmax_t> sizes;
  std::vector<double> differences;
  for (const int quality : {2, 30}) {
    write_clip_at(folder / name, evenly(10), {.codec = codec, .quality = quality});
    sizes.push_back(std::filesystem::file_size(folder / name));
    differences.push_back(
        mean_difference(frames_in(folder / name).at(5).image, picture_with_a_box(kSize, 5)));
  }
  EXPECT_GT(sizes[0], sizes[1]);
  EXPECT_LT(differences[0], differences[1]);
}

TEST_P(ClipOfAKind, CanBeWrittenWhileAnotherOneIs) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  std::vector<std::future<void>> writers;
  for (const char* stem : {"one", "two"})
    writers.push_back(std::async(std::launch::async, [&, stem, &name = name, &codec = codec] {
      write_clip_at(folder / (std::string(stem) + name), evenly(40), {.codec = codec});
    }));
  for (std::future<void>& writer : writers) writer.get();
  const std::vector<Frame> one = frames_in(folder / ("one" + std::string(name)));
  const std::vector<Frame> two = frames_in(folder / ("two" + std::string(name)));
  ASSERT_THAT(one, SizeIs(40));
  ASSERT_THAT(two, SizeIs(40));
  EXPECT_LT(mean_difference(one[39].image, picture_with_a_box(kSize, 39)), 3);
  EXPECT_LT(mean_difference(two[39].image, picture_with_a_box(kSize, 39)), 3);
}

INSTANTIATE_TEST_SUITE_P(ClipWriter, ClipOfAKind, testing::ValuesIn(kinds()), name_of);

/// A container that holds times.
class TimesOfAClip : public testing::TestWithParam<Kind> {};

TEST_P(TimesOfAClip, MayVary) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  std::vector<nanoseconds> times{nanoseconds(0)};
  for (int i = 1; i < 120; ++i) times.push_back(times.back() + milliseconds(7 + i * 37 % 180));
  write_clip_at(folder / name, times, {.codec = codec});
  expect_times(times_in(folder / name), times);
}

TEST_P(TimesOfAClip, MayHaveGaps) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  std::vector<nanoseconds> times = evenly(30);
  for (const nanoseconds gap : {nanoseconds(hours(1)), nanoseconds(hours(100))})
    for (int i = 0; i < 30; ++i)
      times.push_back(times.back() + (i == 0 ? gap : nanoseconds(milliseconds(40))));
  write_clip_at(folder / name, times, {.codec = codec});
  expect_times(times_in(folder / name), times);
}

TEST_P(TimesOfAClip, BeginAtItsFirstPicture) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  std::vector<nanoseconds> times = evenly(30);
  for (nanoseconds& time : times) time += hours(2);
  write_clip_at(folder / name, times, {.codec = codec});
  expect_times(times_in(folder / name), evenly(30));
}

TEST_P(TimesOfAClip, IncreaseEvenIfTimesOfPicturesDoNot) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  // Time goes back to the start, is repeated once, and then rises as before.
  write_clip_at(folder / name,
                {milliseconds(1000), milliseconds(1100), milliseconds(0), milliseconds(100),
                 milliseconds(100), milliseconds(300)},
                {.codec = codec}, kSize, 20);
  expect_times(times_in(folder / name), {milliseconds(0), milliseconds(100), milliseconds(150),
                                         milliseconds(250), milliseconds(300), milliseconds(500)});
}

TEST_P(TimesOfAClip, StayInOrderIfTheContainersTimesAreCoarser) {
  const TemporaryFolder folder;
  const auto [name, codec] = GetParam();
  std::vector<nanoseconds> times;
  for (int i = 0; i < 300; ++i) times.emplace_back(i);
  write_clip_at(folder / name, times, {.codec = codec});
  const std::vector<nanoseconds> read = times_in(folder / name);
  ASSERT_THAT(read, SizeIs(300));
  EXPECT_TRUE(std::ranges::is_sorted(read));
}

INSTANTIATE_TEST_SUITE_P(
    ClipWriter, TimesOfAClip,
    testing::Values(Kind{"a.mp4", VideoCodec::h264}, Kind{"a.mp4", VideoCodec::mpeg4},
                    Kind{"a.mp4", VideoCodec::vp9}, Kind{"a.mp4", VideoCodec::av1},
                    Kind{"a.mp4", VideoCodec::h265}, Kind{"a.mkv", VideoCodec::h264},
                    Kind{"a.mkv", VideoCodec::mjpeg}),
    name_of);

/// The properties of a clip's video, as its file declares them.
struct Declared {
  AVCodecID codec;
  AVColorSpace matrix;
  AVColorRange range;
  double frames_per_second;
  std::vector<double> keyframes;  ///< seconds
};

Declared declared_by(const std::filesystem::path& path) {
  AVFormatContext* opened = nullptr;
  if (avformat_open_input(&opened, path.c_str(), nullptr, nullptr) < 0)
    throw std::runtime_error("no clip");
  avformat_find_stream_info(opened, nullptr);
  const AVStream& stream = *opened->streams[0];
  Declared declared{.codec = stream.codecpar->codec_id,
                    .matrix = stream.codecpar->color_space,
                    .range = stream.codecpar->color_range,
                    .frames_per_second = av_q2d(stream.avg_frame_rate),
                    .keyframes = {}};
  const AvPacketPointer packet(av_packet_alloc());
  for (; av_read_frame(opened, packet.get()) >= 0; av_packet_unref(packet.get()))
    if ((packet->flags & AV_PKT_FLAG_KEY) != 0)
      declared.keyframes.push_back(static_cast<double>(packet->pts) * av_q2d(stream.time_base));
  avformat_close_input(&opened);
  return declared;
}

TEST(ClipWriter, DeclaresCodecColoursAndRate) {
  const TemporaryFolder folder;
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(testing::PrintToString(kind));
    write_clip_at(folder / kind.file, evenly(10, milliseconds(80)), {.codec = kind.codec}, kSize,
                  12.5);
    const Declared declared = declared_by(folder / kind.file);
    const bool is_jpeg = kind.codec == VideoCodec::mjpeg;
    EXPECT_EQ(avcodec_get_name(declared.codec),
              kind.codec == VideoCodec::h265 ? "hevc" : std::string(to_string(kind.codec)));
    EXPECT_DOUBLE_EQ(declared.frames_per_second, 12.5);
    // Only Matroska has a place for it; BT.601 of limited range is assumed elsewhere.
    if (kind.codec == VideoCodec::mpeg4 && std::string(kind.file) != "a.mkv") continue;
    EXPECT_EQ(declared.matrix, is_jpeg ? AVCOL_SPC_BT470BG : AVCOL_SPC_SMPTE170M);
    EXPECT_EQ(declared.range, is_jpeg ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG);
  }
}

TEST(ClipWriter, HasAKeyframeEveryTwoSecondsAtAnyRate) {
  const TemporaryFolder folder;
  for (const int period : {10, 40, 700}) {
    SCOPED_TRACE(period);
    // In a still picture, the encoder adds no keyframes by itself.
    OutputFile file(folder / "a.mp4");
    ClipWriter clip(file, clip_format(folder / "a.mp4", {}), kSize, 25);
    for (int time = 0; time < 10'000; time += period)
      clip.write(picture_with_a_box(kSize, 0), milliseconds(time));
    clip.finish();
    file.commit();
    const std::vector<double> keys = declared_by(folder / "a.mp4").keyframes;
    ASSERT_GE(keys.size(), 3u);
    EXPECT_EQ(keys[0], 0);
    for (std::size_t i = 1; i < keys.size(); ++i) {
      EXPECT_GE(keys[i] - keys[i - 1], 2 - 1e-9);
      EXPECT_LT(keys[i] - keys[i - 1], 2 + period / 1000.);
    }
  }
}

TEST(ClipWriter, KeepsDrawnColours) {
  const TemporaryFolder folder;
  cv::Mat picture(240, 320, CV_8UC3, cv::Scalar(30, 30, 30));
  const std::vector<cv::Scalar> colours{{255, 255, 255}, {255, 0, 0},   {0, 255, 0},
                                        {0, 0, 255},     {0, 255, 255}, {0, 0, 0}};
  for (std::size_t i = 0; i < colours.size(); ++i)
    picture(cv::Rect(static_cast<int>(i) * 50, 100, 40, 40)) = colours[i];
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(testing::PrintToString(kind));
    OutputFile file(folder / kind.file);
    ClipWriter clip(file, clip_format(folder / kind.file, {.codec = kind.codec, .quality = 5}),
                    picture.size(), 25);
    for (const nanoseconds time : evenly(3)) clip.write(picture, time);
    clip.finish();
    file.commit();
    const cv::Mat seen = frames_in(folder / kind.file).at(2).image;
    for (std::size_t i = 0; i < colours.size(); ++i) {
      const cv::Rect middle(static_cast<int>(i) * 50 + 8, 108, 24, 24);
      EXPECT_LT(mean_difference(seen(middle), picture(middle)), 4) << "colour " << i;
    }
  }
}

TEST(ClipWriter, IsLosslessExceptForColoursAtQuality0) {
  const TemporaryFolder folder;
  write_clip_at(folder / "a.mp4", evenly(5), {.quality = 0});
  const cv::Mat seen = frames_in(folder / "a.mp4").at(4).image;
  EXPECT_LT(mean_difference(seen, picture_with_a_box(kSize, 4)), 1.5);
}

TEST(ClipWriter, SaysThatTheEncoderDoesNotTakeTheSize) {
  const TemporaryFolder folder;
  const ClipFormat format = clip_format(folder / "a.mp4", {.codec = VideoCodec::mpeg4});
  OutputFile file(folder / "a.mp4");
  EXPECT_THAT([&] { ClipWriter(file, format, cv::Size(9000, 16), 25); },
              ThrowsError<OutputError>(ErrorCode::output_write,
                                       AllOf(HasSubstr("a.mp4"), HasSubstr("9000 × 16"),
                                             HasSubstr("choose another codec"))));
}

/// A picture that compresses badly, so that a limit is met soon.
cv::Mat noise() {
  cv::Mat picture(kSize, CV_8UC3);
  cv::randu(picture, 0, 255);
  return picture;
}

class FullDiskUnderAClip : public testing::TestWithParam<const char*> {};

TEST_P(FullDiskUnderAClip, IsReported) {
  const TemporaryFolder folder;
  OutputFile file(folder / GetParam());
  ClipWriter clip(file, clip_format(folder / GetParam(), {}), kSize, 25);
  const FileSizeLimit limit(100'000);
  EXPECT_THAT(
      [&] {
        for (int i = 0; i < 400; ++i) clip.write(noise(), i * milliseconds(40));
      },
      ThrowsError<OutputError>(ErrorCode::output_write,
                               AllOf(HasSubstr(GetParam()), HasSubstr("File too large"))));
  EXPECT_THROW(clip.finish(), OutputError);
}

TEST_P(FullDiskUnderAClip, LosesNoPictureThatWasTaken) {
  const TemporaryFolder folder;
  OutputFile file(folder / GetParam());
  ClipWriter clip(file, clip_format(folder / GetParam(), {}), kSize, 25);
  std::size_t taken = 0;
  const auto write = [&](int first, int last) {
    for (int i = first; i < last; ++i) {
      try {
        clip.write(noise(), i * milliseconds(40));
        ++taken;
      } catch (const OutputError&) {
      }
    }
  };
  {
    const FileSizeLimit limit(100'000);
    write(0, 200);
    EXPECT_LT(taken, 200u);
  }
  const std::size_t before = taken;
  write(200, 250);
  clip.finish();
  file.commit();
  EXPECT_EQ(taken, before + 50);
  EXPECT_THAT(frames_in(folder / GetParam()), SizeIs(taken));
}

INSTANTIATE_TEST_SUITE_P(ClipWriter, FullDiskUnderAClip, testing::Values("a.mp4", "a.mkv", "a.avi"),
                         [](const auto& one) { return std::string(one.param).substr(2); });

}  // namespace
}  // namespace vcap::test
