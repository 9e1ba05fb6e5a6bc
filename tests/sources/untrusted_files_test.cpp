// SPDX-License-Identifier: Apache-2.0
// Files that name other files, and pictures that are too large.
#include <gmock/gmock.h>

#include <malloc.h>

#include <cstdint>
#include <limits>

#include <opencv2/imgcodecs.hpp>

#include "media/av_input.hpp"
#include "support/clip_writer.hpp"
#include "support/image_headers.hpp"
#include "support/peak_memory.hpp"
#include "support/sanitizers.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::int64_t count_frames(Source& source) {
  std::int64_t frames = 0;
  while (source.read()) ++frames;
  return frames;
}

/// A folder with a sound clip, and playlists that name it.
class Playlists : public testing::Test {
 protected:
  Playlists() {
    write_clip(folder_ / "clip.ts", {.frames = 10});
    folder_.write("list.m3u8",
                  "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n"
                  "#EXTINF:0.4,\nclip.ts\n#EXT-X-ENDLIST\n");
    folder_.write("list.ffconcat", "ffconcat version 1.0\nfile clip.ts\nfile clip.ts\n");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const TemporaryFolder folder_;
};

TEST_F(Playlists, AreRefusedUnlessTheyAreAskedForByName) {
  for (const auto& [name, prefix] :
       {std::pair("list.m3u8", "put hls: before"), {"list.ffconcat", "put ffconcat: before"}})
    EXPECT_THAT(([&, name = name] { open_source(path(name)); }),
                ThrowsError<SourceError>(
                    ErrorCode::source_open,
                    AllOf(HasSubstr(name), HasSubstr("may name other files"), HasSubstr(prefix))));
  const auto hls = open_source("hls:" + path("list.m3u8"));
  EXPECT_EQ(count_frames(*hls), 10);
  EXPECT_FALSE(hls->info().live);
  EXPECT_EQ(count_frames(*open_source("ffconcat:" + path("list.ffconcat"))), 20);
}

TEST_F(Playlists, AreRefusedWhateverTheirName) {
  for (const char* list : {"list.m3u8", "list.ffconcat"})
    for (const char* name : {"clip.avi", "clip.mp4", "clip", "clip.m3u8.mkv"}) {
      const auto disguised = folder_.write(name, read_file(folder_ / list));
      EXPECT_THROW(open_source(disguised.string()), SourceError) << list << " as " << name;
    }
}

TEST_F(Playlists, OfOneKindAreNotOpenedAsTheOther) {
  EXPECT_THROW(open_source("hls:" + path("list.ffconcat")), SourceError);
  EXPECT_THROW(open_source("ffconcat:" + path("list.m3u8")), SourceError);
  EXPECT_EQ(count_frames(*open_source("hls:" + path("clip.ts"))), 10);
}

TEST_F(Playlists, DoNotNameFilesOutsideTheirFolderOrTheNetwork) {
  for (const char* file : {"/etc/passwd", "../clip.ts", "http://127.0.0.1:9/clip.ts",
                           "file:/etc/passwd", "concat:clip.ts|clip.ts"}) {
    const auto list = folder_.write("list/bad.ffconcat",
                                    std::string("ffconcat version 1.0\nfile '") + file + "'\n");
    EXPECT_THROW(open_source("ffconcat:" + list.string()), SourceError) << file;
  }
  for (const char* file : {"http://127.0.0.1:9/clip.ts", "/etc/passwd", "concat:clip.ts|clip.ts"}) {
    const auto list = folder_.write("bad.m3u8", std::string("#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
                                                            "#EXTINF:0.4,\n") +
                                                    file + "\n#EXT-X-ENDLIST\n");
    EXPECT_THROW(open_source("hls:" + list.string()), SourceError) << file;
  }
}

TEST_F(Playlists, ThatNameThemselvesEndWithAnError) {
  const auto own = folder_.write("own.ffconcat", "ffconcat version 1.0\nfile own.ffconcat\n");
  EXPECT_THROW(open_source("ffconcat:" + own.string()), SourceError);
  folder_.write("a.ffconcat", "ffconcat version 1.0\nfile b.ffconcat\n");
  folder_.write("b.ffconcat", "ffconcat version 1.0\nfile a.ffconcat\n");
  EXPECT_THROW(open_source("ffconcat:" + path("a.ffconcat")), SourceError);
  const auto list = folder_.write("own.m3u8",
                                  "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nown.m3u8\n"
                                  "#EXT-X-ENDLIST\n");
  EXPECT_THROW(open_source("hls:" + list.string()), SourceError);
}

TEST_F(Playlists, AreNamedInTheirErrors) {
  EXPECT_THAT([&] { open_source("hls:" + path("nothing.m3u8")); },
              ThrowsError<SourceError>(ErrorCode::source_open, AllOf(HasSubstr("there is no file"),
                                                                     HasSubstr("nothing.m3u8"))));
  EXPECT_THAT([&] { open_source("ffconcat:" + folder_.path().string()); },
              ThrowsError<SourceError>(ErrorCode::source_open, HasSubstr("there is no file")));
  EXPECT_THAT([&] { open_source("hls:rtsp://camera/1"); },
              ThrowsError<SourceError>(ErrorCode::source_open, HasSubstr("http:// or https://")));
  // A file with such a name has priority.
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  std::filesystem::copy_file("clip.ts", "hls:clip.ts");
  EXPECT_EQ(count_frames(*open_source("hls:clip.ts")), 10);
  std::filesystem::current_path(before);
}

TEST_F(Playlists, OfOtherKindsAreRefused) {
  const std::pair<const char*, const char*> lists[] = {
      {"list.sdp",
       "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
       "m=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"},
      {"list.mpd",
       "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
       "type=\"static\" mediaPresentationDuration=\"PT1S\"><Period></Period></MPD>\n"},
      {"shot%d.tga", "\0\0\x02\0\0\0\0\0\0\0\0\0"},
  };
  for (const auto& [name, text] : lists)
    EXPECT_THROW(open_source(folder_.write(name, text).string()), SourceError) << name;
}

TEST(MaxPixels, BoundPicturesOfAVideo) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mp4", {.size = {320, 240}, .frames = 5});
  const std::string clip = (folder / "clip.mp4").string();
  EXPECT_EQ(count_frames(*open_source(clip, {.max_pixels = 320 * 240})), 5);
  EXPECT_THAT([&] { open_source(clip, {.max_pixels = 320 * 240 - 1}); },
              ThrowsError<SourceError>(ErrorCode::source_open,
                                       AllOf(HasSubstr("320 × 240 pixels, more than 76799"),
                                             HasSubstr("SourceOptions::max_pixels"))));
}

TEST(MaxPixels, BoundPicturesWhoseSizeChangesInAStream) {
  const TemporaryFolder folder;
  // A stream of one codec may change its size; a transport stream's descriptor does not tell it.
  for (const auto& [encoder, name] : {std::pair("libx264", ".ts"), {"mpeg2video", ".ts"}}) {
    SCOPED_TRACE(encoder);
    write_clip(folder / ("small" + std::string(name)),
               {.encoder = encoder, .size = {160, 96}, .frames = 12});
    write_clip(folder / ("large" + std::string(name)),
               {.encoder = encoder, .size = {640, 480}, .frames = 12});
    const std::string small = read_file(folder / ("small" + std::string(name)));
    const std::string large = read_file(folder / ("large" + std::string(name)));
    const std::string grows = folder.write("grows.ts", small + large).string();
    EXPECT_GT(count_frames(*open_source(grows)), 12);
    const auto source = open_source(grows, {.decoder_threads = 1, .max_pixels = 320 * 240});
    std::int64_t frames = 0;
    EXPECT_THAT(([&] {
                  while (source->read()) ++frames;
                }),
                ThrowsError<SourceError>(ErrorCode::source_read,
                                         AllOf(HasSubstr("76800"), HasSubstr("max_pixels"))));
    EXPECT_GE(frames, 6);
    EXPECT_LE(frames, 12);
  }
}

TEST(MaxPixels, BoundTheBuffersOfTheDecoder) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(buffer_pixels(1), (1 << 20) + 4);
  EXPECT_EQ(buffer_pixels(320 * 240), (1 << 20) + 4 * 320 * 240);
  EXPECT_EQ(buffer_pixels(64 << 20), (1 << 20) + (256 << 20));
  for (const std::int64_t many :
       {kMost / 4 - 1, kMost / 4, kMost, 4 * kMost, std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(buffer_pixels(many), kMost) << many << ": libavcodec's bound is an int";
}

/// The KiB that it takes to read a video to its end, or up to its error.
long memory_of_reading(const std::string& video, const SourceOptions& options) {
  ::malloc_trim(0);  // memory that is still held from before would not be seen
  const PeakMemory memory;
  const auto source = open_source(video, options);
  try {
    while (source->read()) continue;
  } catch (const SourceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::source_read);
    EXPECT_THAT(error.what(), HasSubstr("max_pixels"));
  }
  return memory.kib();
}

TEST(MaxPixels, RefuseALargePictureOfAStreamBeforeThereIsMemoryForIt) {
  constexpr long kBound = 24 * 1024;  // three pictures of 3840 × 2160 take 36 MiB
  const TemporaryFolder folder;
  // Small packets: libav holds some megabytes of them while it looks for the streams.
  for (ClipPlan plan :
       {ClipPlan{.encoder = "mpeg2video"},
        ClipPlan{.encoder = "libx264", .options = {{"preset", "ultrafast"}, {"qp", "51"}}}}) {
    SCOPED_TRACE(plan.encoder);
    plan.frames = 12;
    write_clip(folder / "small.ts", plan);
    plan.size = {3840, 2160};
    plan.frames = 4;
    write_clip(folder / "large.ts", plan);
    const std::string small = (folder / "small.ts").string();
    const std::string grows =
        folder.write("grows.ts", read_file(small) + read_file(folder / "large.ts")).string();
    count_frames(*open_source(small, {.decoder_threads = 1}));  // libraries are loaded now
    const long bounded = memory_of_reading(grows, {.decoder_threads = 1, .max_pixels = 320 * 240});
    const long unbounded = memory_of_reading(grows, {.decoder_threads = 1});
    if (test::kUnderSanitizer) continue;  // it keeps freed memory, so a peak shows nothing
    EXPECT_LT(bounded, kBound);
    EXPECT_GT(unbounded, kBound) << "the bound shows nothing";
  }
}

TEST(MaxPixels, BoundImages) {
  const TemporaryFolder folder;
  ASSERT_TRUE(cv::imwrite((folder / "1.png").string(), cv::Mat(30, 40, CV_8UC3)));
  ASSERT_TRUE(cv::imwrite((folder / "2.jpg").string(), cv::Mat(31, 40, CV_8UC3)));
  const std::string all = folder.path().string();
  EXPECT_EQ(count_frames(*open_source(all, {.max_pixels = 1240})), 2);
  const auto source = open_source(all, {.max_pixels = 1200});
  EXPECT_TRUE(source->read());
  EXPECT_THAT(
      [&] { source->read(); },
      ThrowsError<SourceError>(ErrorCode::source_read,
                               AllOf(HasSubstr("2.jpg: it has 40 × 31 pixels"),
                                     HasSubstr("more than 1200"), HasSubstr("scale it down"))));
}

TEST(MaxPixels, SkipALargeImageBeforeOthersAsABrokenOne) {
  const TemporaryFolder folder;
  for (const auto& [name, rows] :
       {std::pair("1.png", 31), {"2.png", 30}, {"3.png", 31}, {"4.png", 30}})
    ASSERT_TRUE(cv::imwrite((folder / name).string(), cv::Mat(rows, 40, CV_8UC3)));
  const auto source = open_source(folder.path().string(), {.max_pixels = 1200});
  EXPECT_TRUE(source->read());
  const std::optional<Frame> next = source->read();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->discontinuity, Discontinuity::gap);
  EXPECT_FALSE(source->read());
  EXPECT_EQ(source->broken_pictures().count, 2);
  EXPECT_THAT(source->broken_pictures().first, testing::ElementsAre("1.png", "3.png"));
}

TEST(MaxPixels, RefuseAnImageBeforeThereIsMemoryForIt) {
  const TemporaryFolder folder;
  // OpenCV's library is loaded here, and not while memory is measured.
  ASSERT_TRUE(cv::imwrite((folder / "small.png").string(), cv::Mat(3, 4, CV_8UC3)));
  open_source((folder / "small.png").string());
  const PeakMemory memory;
  for (const ImageHeader& header : image_headers(16'383, 16'383)) {
    SCOPED_TRACE(header.name);
    const auto file = folder.write(header.name + header.extension, header.bytes);
    EXPECT_THAT([&] { open_source(file.string()); },
                ThrowsError<SourceError>(ErrorCode::source_read,
                                         HasSubstr("16383 × 16383 pixels, more than 67108864")));
  }
  EXPECT_LT(memory.kib(), 32 * 1024) << "KiB";
}

TEST(MaxPixels, AreAtLeastOne) {
  EXPECT_THAT([] { open_source("a.png", {.max_pixels = 0}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("max_pixels of 0 is below 1")));
}

TEST(ImageFiles, OfOtherFormatsAreRefusedWhateverTheirName) {
  const TemporaryFolder folder;
  const cv::Mat image(3, 4, CV_8UC3, cv::Scalar::all(9));
  for (const char* other : {".hdr", ".ras"}) {
    ASSERT_TRUE(cv::imwrite((folder / ("a" + std::string(other))).string(), image));
    const auto disguised = folder.write("a.png", read_file(folder / ("a" + std::string(other))));
    EXPECT_THAT([&] { open_source(disguised.string()); },
                ThrowsError<SourceError>(ErrorCode::source_empty,
                                         HasSubstr("no picture that can be decoded")));
  }
}

}  // namespace
}  // namespace vcap::test
