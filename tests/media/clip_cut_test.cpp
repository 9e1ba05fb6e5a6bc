// SPDX-License-Identifier: Apache-2.0
#include "media/clip_cut.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "media/av_pointers.hpp"
#include "support/clip_writer.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "support/video_pictures.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

/// A packet's time from the stream's start, and its bytes.
struct CopiedPacket {
  milliseconds time;
  bool is_key;
  std::string bytes;

  bool operator==(const CopiedPacket&) const = default;
};

/// In the order of decoding.
std::vector<CopiedPacket> copied_packets(const std::filesystem::path& clip) {
  AvInput input({.url = "file:" + clip.string(),
                 .name = clip.string(),
                 .cannot_open = "cannot be opened ({})",
                 .access = AvAccess::stored_file()});
  const AvPacketPointer packet(av_packet_alloc());
  std::vector<CopiedPacket> packets;
  while (input.read(*packet))
    packets.push_back({std::chrono::round<milliseconds>(input.time_of(packet->pts).value()),
                       (packet->flags & AV_PKT_FLAG_KEY) != 0,
                       std::string(reinterpret_cast<const char*>(packet->data),
                                   static_cast<std::size_t>(packet->size))});
  return packets;
}

/// Keyframes at every 17th frame, which is every 680 ms, in open groups of pictures.
ClipPlan plan_with_known_keys(int frames = 200) {
  return {.frames = frames, .options = b_frames(true)};
}

nanoseconds cut_to(const std::filesystem::path& from_file, const std::filesystem::path& to_file,
                   nanoseconds from, nanoseconds to) {
  OutputFile file(to_file);
  const nanoseconds start = ClipCutter::of(from_file)->cut(from, to, file);
  file.commit();
  return start;
}

class ClipCut : public testing::TestWithParam<const char*> {};

TEST_P(ClipCut, CopiesThePacketsFromTheKeyframeBeforeTheBegin) {
  const TemporaryFolder folder;
  const auto source = folder / (std::string("source") + GetParam());
  write_clip(source, plan_with_known_keys());
  const std::vector<CopiedPacket> all = copied_packets(source);

  const auto clip = folder / "clip.mp4";
  const nanoseconds start = cut_to(source, clip, 3s, 5s);

  EXPECT_EQ(std::chrono::round<milliseconds>(start), 4 * 680ms);
  // Pictures that are shown before the keyframe need others that are not in the clip.
  std::vector<CopiedPacket> wanted;
  const auto key = std::ranges::find_if(
      all, [](const CopiedPacket& one) { return one.is_key && one.time == 4 * 680ms; });
  ASSERT_NE(key, all.end());
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const CopiedPacket& one) {
                      return one.time <= 5s;
                    }).base();
  for (const CopiedPacket& one : std::vector(key, last)) {
    if (one.time < key->time) continue;
    wanted.push_back(one);
    wanted.back().time -= key->time;
  }
  EXPECT_THAT(copied_packets(clip), ElementsAreArray(wanted));
}

TEST_P(ClipCut, ShowsTheSamePicturesAtTheSameTimes) {
  const TemporaryFolder folder;
  const auto source = folder / (std::string("source") + GetParam());
  write_clip(source, plan_with_known_keys());
  const std::vector<Frame> all = frames_in(source);

  const nanoseconds start = cut_to(source, folder / "clip.mp4", 3s, 5s);

  const std::vector<Frame> frames = frames_in(folder / "clip.mp4");
  ASSERT_GE(frames.size(), 57u);  // 2.72 s to 5 s
  for (const Frame& frame : frames) {
    const auto same = std::ranges::find_if(
        all, [&](const Frame& one) { return std::chrono::abs(one.pts - frame.pts - start) < 1ms; });
    ASSERT_NE(same, all.end()) << frame.pts.count();
    EXPECT_EQ(mean_difference(frame.image, same->image), 0) << frame.pts.count();
  }
  EXPECT_GE(frames.back().pts + start, 5s - 1ms);
  EXPECT_LE(frames.back().pts + start, 5s + 160ms) << "a picture that others depend on";
}

TEST_P(ClipCut, BeginsAndEndsWithTheVideo) {
  const TemporaryFolder folder;
  const auto source = folder / (std::string("source") + GetParam());
  write_clip(source, plan_with_known_keys(60));

  EXPECT_EQ(cut_to(source, folder / "all.mp4", 0s, 1h), 0s);
  EXPECT_EQ(frames_in(folder / "all.mp4").size(), frames_in(source).size());
}

INSTANTIATE_TEST_SUITE_P(Containers, ClipCut, testing::Values(".mp4", ".mkv"),
                         [](const testing::TestParamInfo<const char*>& one) {
                           return std::string(one.param).substr(1);
                         });

TEST(ClipCutter, TakesMatroskaForWhatMp4DoesNotHold) {
  const TemporaryFolder folder;
  write_clip(folder / "a.mkv", {.encoder = "mjpeg", .form = AV_PIX_FMT_YUVJ420P});
  const auto cutter = ClipCutter::of(folder / "a.mkv");
  ASSERT_NE(cutter, nullptr);
  EXPECT_EQ(cutter->extension(), ".mkv");
  cut_to(folder / "a.mkv", folder / "clip.mkv", 1s, 2s);
  EXPECT_EQ(frames_in(folder / "clip.mkv").size(), 26u) << "each picture is a keyframe";
}

TEST(ClipCutter, IsNotThereForWhatCannotBeCut) {
  const TemporaryFolder folder;
  EXPECT_EQ(ClipCutter::of(folder / "none.mp4"), nullptr);
  EXPECT_EQ(ClipCutter::of(folder.write("text.mp4", "no video")), nullptr);
  write_clip(folder / "bare.h264", {.frames = 20});
  EXPECT_EQ(ClipCutter::of(folder / "bare.h264"), nullptr) << "has no times";
}

TEST(ClipCutter, SaysThatThereIsNoPicture) {
  const TemporaryFolder folder;
  write_clip(folder / "a.mp4", {.frames = 20, .time = [](int i) { return 5000 + i * 40; }});
  const auto cutter = ClipCutter::of(folder / "a.mp4");
  ASSERT_NE(cutter, nullptr);
  std::filesystem::remove(folder / "a.mp4");
  OutputFile file(folder / "clip.mp4");
  EXPECT_THROW(cutter->cut(0s, 1s, file), SourceError);
}

TEST(ClipCutter, ThrowsOnAFullDisk) {
  const TemporaryFolder folder;
  write_clip(folder / "a.mp4", {.frames = 60});
  const auto cutter = ClipCutter::of(folder / "a.mp4");
  OutputFile file(folder / "clip.mp4");
  const FileSizeLimit limit(2000);
  EXPECT_THAT([&] { cutter->cut(0s, 2s, file); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("clip.mp4")));
}

TEST(HasPictures, IsFalseForAFileThatIsNoVideoYet) {
  const TemporaryFolder folder;
  write_clip(folder / "a.mp4", {.frames = 20});
  EXPECT_TRUE(has_pictures(folder / "a.mp4"));
  EXPECT_FALSE(has_pictures(folder.write("empty.mp4", "")));
  EXPECT_FALSE(has_pictures(folder.write("part.mp4", read_file(folder / "a.mp4").substr(0, 200))));
}

}  // namespace
}  // namespace vcap::test
