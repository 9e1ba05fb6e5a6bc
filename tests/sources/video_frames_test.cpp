// SPDX-License-Identifier: Apache-2.0
// Tests of stored videos: their pictures and times, read from any frame on.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>

#include "base/text.hpp"
#include "support/camera.hpp"
#include "support/clip_forms.hpp"
#include "support/clip_packets.hpp"
#include "support/clip_writer.hpp"
#include "support/footage.hpp"
#include "support/live_helpers.hpp"
#include "support/seen_frames.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::AllOf;
using testing::HasSubstr;

/// A frame, with a hash of its pixels.
struct Seen {
  nanoseconds pts;
  std::uint64_t pixels;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.pts.count() << " ns, pixels " << std::hex << seen.pixels << std::dec;
}

std::vector<Seen> see(Source& source, std::size_t most = SIZE_MAX) {
  std::vector<Seen> all;
  while (all.size() < most) {
    const std::optional<Frame> frame = source.read();
    if (!frame) break;
    EXPECT_EQ(frame->discontinuity, all.empty() ? Discontinuity::start : Discontinuity::none)
        << "frame " << frame->index << " of a clip without damage";
    all.push_back({frame->pts, hash_of(frame->image)});
  }
  return all;
}

std::vector<Seen> see(const std::filesystem::path& path, const SourceOptions& options = {},
                      std::size_t most = SIZE_MAX) {
  return see(*open_source(path.string(), options), most);
}

/// From each `step`-th frame on, the clip gives the same frames as in a read of the whole.
void expect_exact_starts(const std::filesystem::path& path, std::size_t step = 1) {
  const std::vector<Seen> all = see(path);
  ASSERT_GT(all.size(), 1u);
  for (std::size_t i = 0; i < all.size(); i += step) {
    const std::vector<Seen> rest = see(path, {.start = all[i].pts}, 3);
    ASSERT_EQ(rest.size(), std::min<std::size_t>(3, all.size() - i)) << "from frame " << i;
    for (std::size_t k = 0; k < rest.size(); ++k)
      ASSERT_EQ(rest[k], all[i + k]) << "frame " << i + k << " after a start at frame " << i;
    if (i + 1 < all.size()) {
      ASSERT_EQ(see(path, {.start = all[i].pts + nanoseconds(1)}, 1).at(0), all[i + 1])
          << "just after frame " << i;
    }
  }
}

class EveryForm : public testing::TestWithParam<Form> {};

TEST_P(EveryForm, GivesTheSameFramesFromAnyFrameOn) {
  const TemporaryFolder folder;
  const auto path = folder / GetParam().file;
  write_clip(path, GetParam().plan);
  expect_exact_starts(path);
}

TEST_P(EveryForm, HasTheSamePixelsAsOpenCv) {
  const TemporaryFolder folder;
  const auto path = folder / GetParam().file;
  write_clip(path, GetParam().plan);
  const auto source = open_source(path.string());
  cv::VideoCapture capture(path.string(), cv::CAP_FFMPEG);
  int frames = 0;
  for (cv::Mat expected; capture.read(expected); ++frames) {
    const std::optional<Frame> frame = source->read();
    ASSERT_TRUE(frame);
    ASSERT_EQ(frame->image.size(), expected.size());
    ASSERT_TRUE(frame->image.isContinuous());
    ASSERT_EQ(cv::norm(frame->image, expected, cv::NORM_INF), 0) << "frame " << frames;
  }
  EXPECT_EQ(frames, GetParam().plan.frames);
  EXPECT_FALSE(source->read());
}

TEST_P(EveryForm, HasRisingTimes) {
  const TemporaryFolder folder;
  const auto path = folder / GetParam().file;
  write_clip(path, GetParam().plan);
  const std::vector<Seen> all = see(path);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(GetParam().plan.frames));
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i].pts, all[i - 1].pts);
}

INSTANTIATE_TEST_SUITE_P(VideoFrames, EveryForm, testing::ValuesIn(clip_forms()),
                         testing::PrintToStringParamName());

TEST(VideoFrames, EqualThoseOfOpenCvAlsoFromAnyStart) {
  const auto clip = test::footage();
  cv::VideoCapture capture(clip.string(), cv::CAP_FFMPEG);
  std::vector<std::uint64_t> expected;
  for (cv::Mat image; capture.read(image);) expected.push_back(hash_of(image));
  ASSERT_EQ(expected.size(), 795u);
  const std::vector<Seen> all = see(clip);
  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].pixels, expected[i]) << "frame " << i;
    EXPECT_EQ(all[i].pts, milliseconds(100 * i));
  }
  for (std::size_t i = 7; i < all.size(); i += 97)
    EXPECT_EQ(see(clip, {.start = all[i].pts}, 1).at(0), all[i]);
}

TEST(VideoFrames, HaveAGapAfterAPictureThatCannotBeDecoded) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "clip.avi";
  write_clip(path, {.encoder = "mjpeg", .frames = 40, .form = AV_PIX_FMT_YUVJ420P});
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  // Finds the beginning of the eleventh picture by the marker of a JPEG.
  std::size_t at = 0;
  for (int picture = 0; picture <= 10; ++picture) at = bytes.find("\xff\xd8\xff", at + 1);
  ASSERT_NE(at, std::string::npos);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 700, '\0');
  std::ofstream(path, std::ios::binary) << bytes;

  const auto read = [&](const SourceOptions& options) {
    std::vector<std::pair<nanoseconds, Discontinuity>> seen;
    const auto source = open_source(path.string(), options);
    while (const std::optional<Frame> frame = source->read())
      seen.emplace_back(frame->pts, frame->discontinuity);
    return seen;
  };
  const auto seen = read({});
  ASSERT_EQ(seen.size(), 39u);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].first, milliseconds(40 * (i < 10 ? i : i + 1))) << i;
    EXPECT_EQ(seen[i].second, i == 0    ? Discontinuity::start
                              : i == 10 ? Discontinuity::gap
                                        : Discontinuity::none)
        << i;
  }
  // Every fourth picture gives 0, 4, 8, then 13. The lost picture lies between 8 and 13, so that 13
  // has a gap.
  const auto some = read({.stride = 4});
  ASSERT_GT(some.size(), 4u);
  EXPECT_EQ(some[3].first, milliseconds(40 * 13));
  EXPECT_EQ(some[3].second, Discontinuity::gap);
  EXPECT_EQ(some[4].second, Discontinuity::none);
}

TEST(VideoFrames, HaveTheirGapInTheRightPlaceWithReorderedPictures) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "clip.mp4";
  write_clip(path, {.frames = 60, .options = b_frames(false)});
  for (const int place : {20, 21, 22, 23, 24}) {
    const Packet lost = packet_of(path, place);
    const std::filesystem::path damaged = folder / ("damaged" + std::to_string(place) + ".mp4");
    std::filesystem::copy_file(path, damaged);
    destroy(damaged, lost);
    const auto source = open_source(damaged.string());
    std::vector<nanoseconds> gaps;
    std::int64_t count = 0;
    for (; const std::optional<Frame> frame = source->read(); ++count) {
      EXPECT_NE(frame->pts, lost.pts) << "packet " << place;
      if (frame->discontinuity == Discontinuity::gap) gaps.push_back(frame->pts);
    }
    EXPECT_EQ(count, 59) << "packet " << place;
    EXPECT_THAT(gaps, testing::ElementsAre(lost.pts + milliseconds(40))) << "packet " << place;
  }
}

TEST(VideoFrames, HaveTheTimesOfAVariableRate) {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> times{0, 10, 50, 51, 400, 1000, 1033, 5000, 5001, 9000};
  write_clip(folder / "clip.mkv",
             {.frames = 10,
              .time = [&](int i) { return times[static_cast<std::size_t>(i)]; },
              .options = b_frames(false)});
  const std::vector<Seen> all = see(folder / "clip.mkv");
  ASSERT_EQ(all.size(), times.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].pts, milliseconds(times[i]));
  expect_exact_starts(folder / "clip.mkv");
}

TEST(VideoFrames, AreTimedByTheRateIfThereAreNoTimes) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.h264", {.frames = 30, .options = b_frames(false)});
  const std::vector<Seen> all = see(folder / "clip.h264");
  ASSERT_EQ(all.size(), 30u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].pts, milliseconds(40 * i));
}

TEST(VideoFrames, AreTimedByTheRateIfTimesGoBack) {
  const TemporaryFolder folder;
  const ClipPlan plan{.frames = 25, .options = b_frames(false)};
  write_clip(folder / "a.ts", plan);
  folder.write("twice.ts", read_file(folder / "a.ts") + read_file(folder / "a.ts"));
  const std::vector<Seen> all = see(folder / "twice.ts");
  ASSERT_EQ(all.size(), 50u);
  for (std::size_t i = 1; i < all.size(); ++i)
    EXPECT_EQ(all[i].pts - all[i - 1].pts, milliseconds(40)) << "frame " << i;
  EXPECT_EQ(see(folder / "twice.ts", {.start = all[45].pts}, 1).at(0), all[45])
      << "this time follows only from the rate";
}

TEST(VideoFrames, AreRotatedAsTheContainerSays) {
  const TemporaryFolder folder;
  // Lossless, since x264 does not always encode the same pictures in the same way.
  const std::map<std::string, std::string> options{{"qp", "0"}};
  write_clip(folder / "plain.mp4", {.frames = 3, .options = options});
  write_clip(folder / "turned.mp4", {.frames = 3, .options = options, .degrees = 90});
  const auto source = open_source((folder / "turned.mp4").string());
  EXPECT_EQ(source->info().size, cv::Size(96, 160));
  cv::Mat turned;
  cv::rotate(open_source((folder / "plain.mp4").string())->read()->image, turned,
             cv::ROTATE_90_CLOCKWISE);
  EXPECT_EQ(cv::norm(source->read()->image, turned, cv::NORM_INF), 0);
}

/// The greatest difference between values of the first frames of two clips.
double colour_distance(const std::filesystem::path& a, const std::filesystem::path& b) {
  return cv::norm(open_source(a.string())->read()->image, open_source(b.string())->read()->image,
                  cv::NORM_INF);
}

TEST(VideoFrames, HaveTheColoursOfTheirRange) {
  const TemporaryFolder folder;
  const ClipPlan plan{.frames = 1, .options = {{"qp", "0"}}};
  ClipPlan full = plan;
  full.range = AVCOL_RANGE_JPEG;
  full.form = AV_PIX_FMT_YUVJ420P;
  write_clip(folder / "limited.mp4", plan);
  write_clip(folder / "full.mp4", full);
  EXPECT_GT(colour_distance(folder / "limited.mp4", folder / "full.mp4"), 10)
      << "limited range stretches 16 to 235 to 0 to 255";
}

TEST(VideoFrames, HaveTheColoursOfTheirMatrix) {
  const TemporaryFolder folder;
  ClipPlan plan{.frames = 1, .options = {{"qp", "0"}}};
  write_clip(folder / "none.mp4", plan);
  plan.matrix = AVCOL_SPC_SMPTE170M;
  write_clip(folder / "bt601.mp4", plan);
  plan.matrix = AVCOL_SPC_BT709;
  write_clip(folder / "bt709.mp4", plan);
  EXPECT_EQ(colour_distance(folder / "none.mp4", folder / "bt601.mp4"), 0);
  EXPECT_GT(colour_distance(folder / "bt709.mp4", folder / "bt601.mp4"), 5);
}

/// Of each of these pictures, in the order of decoding, nothing is left.
void destroy_pictures(const std::filesystem::path& clip, const std::vector<int>& places) {
  for (const int place : places) destroy(clip, packet_of(clip, place));
}

TEST(VideoFrames, ThatCannotBeDecodedAreSkippedCountedAndLogged) {
  const TemporaryFolder folder;
  const auto clip = folder / "clip.avi";
  write_clip(clip, {.encoder = "mjpeg", .frames = 20, .form = AV_PIX_FMT_YUVJ420P});
  destroy_pictures(clip, {0, 7, 8, 19});
  const KeptLog log;
  const auto source = open_source(clip.string());
  EXPECT_EQ(read_frames(*source).size(), 16u);
  EXPECT_EQ(source->broken_pictures().count, 4);
  EXPECT_THAT(source->broken_pictures().first,
              testing::ElementsAre("0.0 s", "0.28 s", "0.32 s", "0.76 s"));
  EXPECT_THAT(log.text(), AllOf(HasSubstr("clip.avi: the picture 0.28 s is skipped: "),
                                testing::Not(HasSubstr("cut off"))));
}

TEST(VideoFrames, ThatCannotBeDecodedAreCountedInTheOrderOfTheirTimes) {
  const TemporaryFolder folder;
  const auto clip = folder / "clip.mp4";
  write_clip(clip, {.options = b_frames(false)});
  const Packet lost = packet_of(clip, 22);
  destroy(clip, lost);
  const auto source = open_source(clip.string());
  EXPECT_EQ(read_frames(*source).size(), 59u);
  EXPECT_EQ(source->broken_pictures().count, 1);
  EXPECT_THAT(
      source->broken_pictures().first,
      testing::ElementsAre(number_text(std::chrono::duration<double>(lost.pts).count()) + " s"));
}

TEST(VideoFrames, ThatCannotBeDecodedBeforeTheStartDoNotCount) {
  const TemporaryFolder folder;
  const auto clip = folder / "clip.mp4";
  write_clip(clip, {.options = b_frames(false)});
  destroy_pictures(clip, {22});
  const auto source = open_source(clip.string(), {.start = milliseconds(1200)});
  EXPECT_FALSE(read_frames(*source).empty());
  EXPECT_EQ(source->broken_pictures().count, 0);
}

TEST(VideoFrames, OfACompleteClipAreNotReportedAsCutOffWhateverItsHeaderSays) {
  const TemporaryFolder folder;
  const auto clip = folder / "clip.avi";
  write_clip(clip, {.encoder = "mpeg4", .frames = 40, .options = {{"g", "13"}}});
  for (const std::uint32_t frames : {400u, 41u, 40u, 10u}) {
    SCOPED_TRACE(frames);
    announce(clip, frames);
    const KeptLog log;
    EXPECT_EQ(see(clip).size(), 40u);
    EXPECT_THAT(log.text(), testing::Not(HasSubstr("cut off")));
  }
  const std::string bytes = read_file(clip);
  folder.write("cut.avi", std::string_view(bytes).substr(0, bytes.size() / 2));
  announce(folder / "cut.avi", 40);
  const KeptLog log;
  EXPECT_LT(see(folder / "cut.avi").size(), 40u);
  EXPECT_THAT(log.text(), HasSubstr("of 40 frames; it may be cut off"));
}

TEST(VideoFrames, AreReadUpToTheCutInATruncatedClip) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mkv", {.options = b_frames(false)});
  const std::vector<Seen> whole = see(folder / "clip.mkv");
  const std::string bytes = read_file(folder / "clip.mkv");
  folder.write("cut.mkv", std::string_view(bytes).substr(0, bytes.size() / 2));
  const std::vector<Seen> cut = see(folder / "cut.mkv");
  ASSERT_GT(cut.size(), 5u);
  ASSERT_LT(cut.size(), whole.size());
  // The last frames lack data that was cut off.
  for (std::size_t i = 0; i + 5 < cut.size(); ++i) EXPECT_EQ(cut[i], whole[i]);
}

TEST(VideoFrames, AreRefusedInAClipWithoutItsIndex) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mp4", {});
  const std::string bytes = read_file(folder / "clip.mp4");
  folder.write("cut.mp4", std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_THAT([&] { open_source((folder / "cut.mp4").string()); },
              ThrowsError<SourceError>(ErrorCode::source_open, HasSubstr("cut.mp4 cannot be")));
}

TEST(VideoFrames, AreRefusedInAnAudioFile) {
  const TemporaryFolder folder;
  // A second of silence: 8000 samples of one byte.
  std::string wave(
      "RIFF\x64\x1f\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data"
      "\x40\x1f\0\0",
      44);
  folder.write("sound.wav", wave + std::string(8000, '\x80'));
  EXPECT_THAT(
      [&] { open_source((folder / "sound.wav").string()); },
      ThrowsError<SourceError>(ErrorCode::source_open,
                               AllOf(HasSubstr("sound.wav has the format WAV"),
                                     HasSubstr("not a container of video that can be opened"))));
}

TEST(VideoFrames, AreReadFromAFileWithAStrangeName) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mp4", {.frames = 3});
  for (const char* name : {"http:clip.mp4", "%03d.mp4", "0", "a[1] ?.mp4"}) {
    std::filesystem::copy_file(folder / "clip.mp4", folder / name);
    EXPECT_EQ(see(folder / name).size(), 3u) << name;
  }
}

/// The answer of a server that sends this file with its length.
std::string as_answer(const std::string& bytes) {
  return "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(bytes.size()) + "\r\n\r\n" + bytes;
}

TEST(VideoFrames, AreTheSameFromAServerAsFromTheFile) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mkv", {.options = b_frames(true)});
  const std::vector<Seen> all = see(folder / "clip.mkv");
  // The server cannot seek, so the source requests the clip again.
  const Camera server(
      std::vector<Camera::Visit>(3, {.answer = as_answer(read_file(folder / "clip.mkv"))}));
  const auto source = open_source(server.url());
  EXPECT_FALSE(source->info().live);
  EXPECT_EQ(see(*source), all);
  EXPECT_EQ(see(*open_source(server.url(), {.start = all[30].pts}), 1).at(0), all[30]);
}

TEST(VideoFrames, EndInAnErrorWhenTheServerFreezes) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mkv", {.options = b_frames(true)});
  std::string answer = as_answer(read_file(folder / "clip.mkv"));
  answer.resize(answer.size() / 2);
  const Camera server(std::vector<Camera::Visit>(1, {.freezes = true, .answer = answer}));
  const auto source = open_source(server.url(), {.silence_limit = milliseconds(2000)});
  EXPECT_THAT([&] { see(*source); },
              ThrowsError<SourceError>(ErrorCode::source_read,
                                       AllOf(HasSubstr("cannot be read further"),
                                             HasSubstr("it was silent for 2.0 s"))));
}

TEST(VideoFrames, NameTheirCodec) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mp4", {.frames = 3});
  EXPECT_EQ(open_source((folder / "clip.mp4").string())->info().codec, "h264");
}

}  // namespace
}  // namespace vcap::test
