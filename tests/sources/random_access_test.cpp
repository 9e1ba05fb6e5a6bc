// SPDX-License-Identifier: Apache-2.0
// A stored source that is read from any frame on gives the same frames as from the beginning.
#include "vcap/sources/random_access.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <span>
#include <thread>

#include <opencv2/imgcodecs.hpp>

#include "sources/stored_source.hpp"
#include "support/camera.hpp"
#include "support/clip_forms.hpp"
#include "support/clip_packets.hpp"
#include "support/footage.hpp"
#include "support/seen_frames.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::HasSubstr;

/// From each `step`-th frame on, the source gives the same frames as in a read of the whole.
void expect_same_from_everywhere(const std::string& name, const SourceOptions& options = {},
                                 std::size_t step = 1) {
  const auto source = open_source(name, options);
  const auto access = source->random_access();
  ASSERT_TRUE(access);
  const std::vector<SeenFrame> all = read_frames(*source);
  ASSERT_EQ(access->frames(), static_cast<std::int64_t>(all.size()));
  for (std::size_t i = 0; i < all.size(); i += step) {
    const auto from = access->open_at(static_cast<std::int64_t>(i));
    // Some reads go to the end and so pass many keyframes.
    const std::vector<SeenFrame> rest = read_frames(*from, i % 20 == 0 ? SIZE_MAX : 4);
    ASSERT_GE(rest.size(), std::min<std::size_t>(4, all.size() - i)) << "from frame " << i;
    for (std::size_t k = 0; k < rest.size(); ++k)
      ASSERT_EQ(rest[k], all[i + k]) << "after opening at frame " << i;
    if (rest.size() != 4) {
      EXPECT_EQ(rest.size(), all.size() - i);
      EXPECT_FALSE(from->read());
    }
  }
}

class EveryFormAtRandom : public testing::TestWithParam<Form> {};

TEST_P(EveryFormAtRandom, GivesTheSameFramesFromAnyFrameOn) {
  const TemporaryFolder folder;
  const auto path = folder / GetParam().file;
  write_clip(path, GetParam().plan);
  if (GetParam().is_indexed) {
    expect_same_from_everywhere(path);
    expect_same_from_everywhere(path, {.start = milliseconds(130), .stride = 3});
  } else {
    EXPECT_FALSE(open_source(path)->random_access());
  }
}

std::vector<Form> more_forms() {
  static const std::vector<std::int64_t> times{0, 10, 50, 51, 400, 1000, 1033, 5000, 5001, 9000};
  std::vector<Form> forms = clip_forms();
  const std::vector<Form> more{
      {"OneKeyframe", "clip.mp4", true, {.options = {{"g", "1000"}}}},
      {"OneKeyframeInATransportStream", "clip.ts", true, {.options = {{"g", "1000"}}}},
      {"LongGroups", "clip.mkv", true, {.frames = 150, .options = {{"g", "50"}}}},
      {"Turned", "clip.mp4", true, {.frames = 30, .options = b_frames(false), .degrees = 90}},
      {"VariableRate",
       "clip.mkv",
       true,
       {.frames = 10,
        .time = [](int i) { return times[static_cast<std::size_t>(i)]; },
        .options = b_frames(false)}},
      {"Mpeg4", "clip.avi", true, {.encoder = "mpeg4", .options = {{"g", "13"}}}},
      {"Mpeg4InMp4", "clip.mp4", true, {.encoder = "mpeg4", .options = {{"bf", "2"}}}},
      {"Lossless", "clip.mkv", true, {.encoder = "ffv1", .frames = 10}},
      {"Vp9", "clip.webm", true, {.encoder = "libvpx-vp9", .options = {{"g", "15"}}}},
      {"Vp8WhichHasPicturesThatAreNotShown",
       "clip.webm",
       false,
       {.encoder = "libvpx", .options = {{"g", "15"}, {"auto-alt-ref", "1"}}}}};
  forms.insert(forms.end(), more.begin(), more.end());
  return forms;
}

INSTANTIATE_TEST_SUITE_P(RandomAccess, EveryFormAtRandom, testing::ValuesIn(more_forms()),
                         testing::PrintToStringParamName());

TEST(RandomAccess, HasASeekPointAtEachKeyframe) {
  const TemporaryFolder folder;
  const auto clip = folder / "clip.mp4";
  write_clip(clip, {.options = b_frames(false)});  // a keyframe every 17
  const auto whole = open_source(clip)->random_access();
  for (std::int64_t row = 0; row < whole->frames(); ++row)
    EXPECT_EQ(whole->seek_point(row), row - row % 17);
  // Rows 0, 1, … are frames 4, 7, …; the first ones at or after a keyframe are 19, 34 and 52.
  const auto some = open_source(clip, {.start = milliseconds(130), .stride = 3})->random_access();
  for (std::int64_t row = 0; row < some->frames(); ++row)
    EXPECT_EQ(some->seek_point(row), row < 5 ? 0 : row < 10 ? 5 : row < 16 ? 10 : 16) << row;
}

TEST(RandomAccess, UsesAnIndexThatWasSaved) {
  const TemporaryFolder folder;
  const auto clip = folder / "clip.mkv";
  write_clip(clip, {.options = b_frames(true)});
  const std::string saved = save_index(*open_source(clip)->random_access());
  EXPECT_FALSE(saved.empty());
  const auto source = open_source(clip);
  EXPECT_FALSE(restore_index(*source, saved.substr(1)));
  ASSERT_TRUE(restore_index(*source, saved));
  std::filesystem::rename(clip, folder / "away.mkv");  // a scan would open it
  const auto access = source->random_access();
  std::filesystem::rename(folder / "away.mkv", clip);
  ASSERT_TRUE(access);
  EXPECT_EQ(save_index(*access), saved);
  const std::vector<SeenFrame> all = read_frames(*source);
  ASSERT_EQ(access->frames(), static_cast<std::int64_t>(all.size()));
  const std::vector<SeenFrame> rest = read_frames(*access->open_at(30));
  EXPECT_TRUE(std::ranges::equal(rest, std::span(all).subspan(30)));
}

TEST(RandomAccess, ReachesFramesOfTheFootage) {
  expect_same_from_everywhere(footage(), {.end = std::chrono::seconds(20)}, 13);
}

class ImagesAtRandom : public testing::Test {
 protected:
  ImagesAtRandom() {
    for (int i = 0; i < 12; ++i)
      cv::imwrite((folder_ / (std::to_string(i) + ".png")).string(),
                  cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(i)));
  }

  const TemporaryFolder folder_;
};

TEST_F(ImagesAtRandom, AreReadFromAnyImageOn) {
  expect_same_from_everywhere(folder_.path());
  expect_same_from_everywhere(folder_ / "*.png", {.start = milliseconds(41), .stride = 2});
  expect_same_from_everywhere(folder_ / "3.png");
}

TEST_F(ImagesAtRandom, RefuseAFrameBeyondTheLast) {
  const auto access = open_source(folder_.path(), {.stride = 5})->random_access();
  EXPECT_EQ(access->frames(), 3);
  EXPECT_EQ(access->seek_point(2), 2) << "each image is decoded by itself";
  EXPECT_EQ(save_index(*access), "");
  for (const int beyond : {-1, 3})
    EXPECT_THAT([&] { access->open_at(beyond); },
                ThrowsError<InvalidArgument>(
                    ErrorCode::invalid_argument,
                    HasSubstr("has no frame " + std::to_string(beyond) + ", only 0 to 2")));
}

TEST_F(ImagesAtRandom, HaveNoRandomAccessInALoop) {
  EXPECT_FALSE(open_source(folder_.path(), {.loop = 2})->random_access());
  EXPECT_FALSE(open_source(folder_.path(), {.loop = 0})->random_access());
}

TEST_F(ImagesAtRandom, CanBeInterrupted) {
  const auto from = open_source(folder_.path())->random_access()->open_at(3);
  EXPECT_EQ(from->read()->index, 3);
  from->interrupt();
  EXPECT_FALSE(from->read());
}

TEST(RandomAccess, DoesNotMoveTheSourceAndOutlivesIt) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mp4", {.options = b_frames(true)});
  const std::vector<SeenFrame> all = read_frames(*open_source(folder / "clip.mp4"));
  auto source = open_source(folder / "clip.mp4");
  EXPECT_EQ(read_frames(*source, 7), std::vector(all.begin(), all.begin() + 7));
  const auto access = source->random_access();
  EXPECT_EQ(read_frames(*source, 3), std::vector(all.begin() + 7, all.begin() + 10));
  source.reset();
  EXPECT_EQ(read_frames(*access->open_at(50)), std::vector(all.begin() + 50, all.end()));
}

TEST(RandomAccess, ServesSeveralReadersAtOnce) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mkv", {.options = b_frames(true)});
  const auto source = open_source(folder / "clip.mkv");
  const auto access = source->random_access();
  const std::vector<SeenFrame> all = read_frames(*source);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> readers;
  for (std::size_t reader = 0; reader < 4; ++reader)
    readers.emplace_back([&, reader] {
      for (std::size_t i = reader; i < all.size(); i += 4)
        wrong += read_frames(*access->open_at(static_cast<std::int64_t>(i)), 1).at(0) != all[i];
    });
  readers.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(RandomAccess, IsAbsentForClipsThatCannotBeIndexed) {
  const TemporaryFolder folder;
  write_clip(folder / "a.ts", {.frames = 25, .options = b_frames(false)});
  const std::string bytes = read_file(folder / "a.ts");
  folder.write("twice.ts", bytes + bytes);
  EXPECT_FALSE(open_source(folder / "twice.ts")->random_access()) << "times go back";
  write_clip(folder / "clip.mkv", {.options = b_frames(false)});
  const std::string clip = read_file(folder / "clip.mkv");
  const std::string answer =
      "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(clip.size()) + "\r\n\r\n" + clip;
  const Camera server(std::vector<Camera::Visit>(2, {.answer = answer}));
  EXPECT_FALSE(open_source(server.url())->random_access())
      << "an index would need a second download";
}

/// The clip has one destroyed packet. A read from any frame before it gives the same frames as a
/// read from the beginning, up to a frame that the error names.
TEST(RandomAccess, NamesTheDamagedFrame) {
  const TemporaryFolder folder;
  const auto path = folder / "clip.mp4";
  write_clip(path, {.frames = 60, .options = b_frames(false)});
  for (const int place : {20, 22, 24}) {
    const Packet lost = packet_of(path, place);
    const auto damaged = folder / ("damaged" + std::to_string(place) + ".mp4");
    std::filesystem::copy_file(path, damaged);
    destroy(damaged, lost);
    const std::int64_t missing = lost.pts / milliseconds(40);
    const auto source = open_source(damaged);
    const auto access = source->random_access();
    ASSERT_TRUE(access);
    EXPECT_EQ(access->frames(), 60);
    const std::vector<SeenFrame> all = read_frames(*source);
    for (std::int64_t first = 0; first <= missing; ++first) {
      SCOPED_TRACE("packet " + std::to_string(place) + ", from frame " + std::to_string(first));
      std::vector<SeenFrame> seen;
      EXPECT_THAT(
          [&] {
            const auto from = access->open_at(first);
            while (true) seen.push_back(read_frames(*from, 1).at(0));
          },
          ThrowsError<SourceError>(ErrorCode::source_not_as_indexed,
                                   HasSubstr("does not have frame ")));
      ASSERT_LE(first + static_cast<std::int64_t>(seen.size()), missing);
      EXPECT_EQ(seen, std::vector(all.begin() + first,
                                  all.begin() + first + static_cast<std::ptrdiff_t>(seen.size())));
    }
    // The groups before and after it are not affected; frames are counted by their packets.
    EXPECT_EQ(read_frames(*access->open_at(3), 3), std::vector(all.begin() + 3, all.begin() + 6));
    EXPECT_EQ(read_frames(*access->open_at(51), 1).at(0).pixels, all.at(50).pixels);
  }
}

}  // namespace
}  // namespace vcap::test
