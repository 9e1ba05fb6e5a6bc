// SPDX-License-Identifier: Apache-2.0
// Videos and images that a stranger made: each is refused with a typed error, opens no other file,
// and uses little memory and time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/image_headers.hpp"
#include "support/peak_memory.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {
namespace {

using namespace std::string_literals;
using test::big;
using test::little;
using test::PeakMemory;
using test::TemporaryFolder;

constexpr long kMostMemoryKiB = 64 * 1024;
constexpr double kMostSeconds = 2;  // of CPU time

/// A file, and how it is asked for.
struct HostileSource {
  std::string name{};  ///< unique
  std::string file{};
  std::string bytes{};
  std::string prefix{};  ///< "hls:" or "ffconcat:"; empty: by its name
};

/// In playlists, this stands for a FIFO that nobody writes into: to open it would take forever.
constexpr const char* kBait = "bait.ts";

std::string hls(const std::string& entry) {
  return "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + entry +
         "\n#EXT-X-ENDLIST\n";
}

std::string master(const std::string& entry) {
  return "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n" + entry + "\n";
}

std::string ffconcat(const std::string& entry) {
  return "ffconcat version 1.0\nfile '" + entry + "'\n";
}

void add_playlists(std::vector<HostileSource>& cases) {
  const std::pair<const char*, std::string> lists[] = {
      {"hls", hls(kBait)},
      {"master", master(kBait)},
      {"ffconcat", ffconcat(kBait)},
      {"hls_of_passwd", hls("/etc/passwd")},
      {"hls_key", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=AES-128,URI=\""s + kBait +
                      "\"\n#EXTINF:1,\n" + kBait + "\n#EXT-X-ENDLIST\n"},
      {"hls_map", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MAP:URI=\""s + kBait +
                      "\"\n#EXTINF:1,\n" + kBait + "\n#EXT-X-ENDLIST\n"},
      {"sdp",
       "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
       "m=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"},
      {"dash",
       "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
       "type=\"static\" mediaPresentationDuration=\"PT1S\"><Period><AdaptationSet>"
       "<Representation id=\"1\" bandwidth=\"1\"><BaseURL>"s +
           kBait + "</BaseURL></Representation></AdaptationSet></Period></MPD>"},
      {"imf",
       "<?xml version=\"1.0\"?><CompositionPlaylist xmlns=\"http://www.smpte-ra.org/schemas/"
       "2067-3/2016\"></CompositionPlaylist>"},
      {"vobsub",
       "# VobSub index file, v7\nid: en, index: 0\ntimestamp: 00:00:00:000, filepos: 0\n"},
      {"m3u", "#EXTM3U\n#EXTINF:1,\n"s + kBait + "\n"},
      {"pls", "[playlist]\nFile1="s + kBait + "\nNumberOfEntries=1\n"},
      {"asx", "<asx version=\"3\"><entry><ref href=\""s + kBait + "\"/></entry></asx>"},
      {"ram", "file:"s + kBait + "\n"},
  };
  for (const auto& [name, bytes] : lists)
    for (const char* extension :
         {".m3u8", ".ffconcat", ".mp4", ".avi", ".ts", ".sdp", ".mpd", ".png"})
      cases.push_back({std::string("list.") + name + extension, "a"s + extension, bytes});
}

void add_lists_by_name(std::vector<HostileSource>& cases) {
  const auto add = [&cases](const std::string& name, const std::string& file,
                            const std::string& bytes, const std::string& prefix) {
    cases.push_back({"asked." + name, file, bytes, prefix});
  };
  int number = 0;
  for (const char* entry : {"/etc/passwd",
                            "../bait.ts",
                            "a/../../bait.ts",
                            "http://127.0.0.1:9/a.ts",
                            "https://127.0.0.1:9/a.ts",
                            "tcp://127.0.0.1:9",
                            "udp://127.0.0.1:9",
                            "rtp://127.0.0.1:9",
                            "ftp://127.0.0.1:9/a.ts",
                            "gopher://127.0.0.1:9",
                            "concat:a.ts|b.ts",
                            "subfile:a.ts",
                            "data:video/mp4;base64,AAAA",
                            "pipe:0",
                            "fd:0",
                            "unix:/tmp/a",
                            "async:a.ts",
                            "cache:a.ts",
                            "crypto:a.ts",
                            "tee:a.ts",
                            "nothing.ts",
                            ""}) {
    add("ffconcat." + std::to_string(number), "a.ffconcat", ffconcat(entry), "ffconcat:");
    // An HLS playlist may name files outside its folder.
    if (!std::string_view(entry).ends_with("../bait.ts"))
      add("hls." + std::to_string(number), "a.m3u8", hls(entry), "hls:");
    ++number;
  }
  add("own_concat", "own.ffconcat", ffconcat("own.ffconcat"), "ffconcat:");
  add("own_hls", "own.m3u8", hls("own.m3u8"), "hls:");
  add("own_master", "own.m3u8", master("own.m3u8"), "hls:");
  add("hls_as_concat", "a.m3u8", hls("a.ts"), "ffconcat:");
  add("concat_as_hls", "a.ffconcat", ffconcat("a.ts"), "hls:");
  add("text", "a.txt", "nothing", "hls:");
  std::string many = "ffconcat version 1.0\n";
  for (int i = 0; i < 20'000; ++i) many += "file nothing" + std::to_string(i) + ".ts\n";
  add("many", "many.ffconcat", many, "ffconcat:");
}

void add_images(std::vector<HostileSource>& cases) {
  for (const test::ImageHeader& header : test::image_headers(16'383, 16'383))
    cases.push_back({"large." + header.name, "a" + header.extension, header.bytes});
  // The form decides, not the name.
  for (const test::ImageHeader& header : test::image_headers(16'383, 16'383))
    cases.push_back({"disguised." + header.name, "a.png", header.bytes});
  const auto png = [](std::uint64_t width, std::uint64_t height) {
    return "\x89PNG\r\n\x1a\n"s + big(13, 4) + "IHDR" + big(width, 4) + big(height, 4) +
           "\x08\x02\0\0\0"s + std::string(64, '\0');
  };
  const std::pair<const char*, std::string> images[] = {
      {"png_widest", png(0xFFFFFFFF, 1)},
      {"png_overflow", png(0xFFFFFFFF, 0xFFFFFFFF)},
      {"png_signed", png(0x80000001, 0x80000001)},
      {"png_none", png(0, 0)},
      {"tiff_widest", test::tiff_header(little, "II", 0xFFFFFFFF, 0xFFFFFFFF)},
      {"tiff_overflow", test::tiff_header(little, "II", 1ULL << 33, 1ULL << 31, 8, true)},
      {"tiff_directory_outside", "II\x2a\0"s + little(0xFFFFFFF0, 4) + std::string(64, '\0')},
      {"bigtiff_entries", "II\x2b\0"s + little(8, 2) + little(0, 2) + little(16, 8) +
                              little(UINT64_MAX, 8) + std::string(64, '\0')},
      {"bmp_highest", "BM"s + little(0, 8) + little(54, 4) + little(40, 4) + little(65'536, 4) +
                          little(0x80000000, 4) + std::string(64, '\0')},
      {"pnm_digits", "P6 " + std::string(100'000, '9') + " 1 255\n"},
      {"pnm_comment", "P6 #" + std::string(1'000'000, 'x')},
      {"jpeg_fill", "\xff\xd8"s + std::string(4'000'000, '\xff')},
      {"jpeg_bytes_between", "\xff\xd8\xff\xe0"s + big(2, 2) + std::string(4'000'000, 'x')},
      {"jpeg_segments",
       [] {
         std::string bytes = "\xff\xd8"s;
         for (int i = 0; i < 500'000; ++i) bytes += "\xff\xe0"s + big(2, 2);
         return bytes;
       }()},
      {"jp2_boxes",
       [] {
         std::string bytes = "\0\0\0\x0cjP  \r\n\x87\n"s;
         for (int i = 0; i < 200'000; ++i) bytes += big(8, 4) + "free";
         return bytes;
       }()},
      {"jp2_components", "\xff\x4f\xff\x51"s + big(47, 2) + big(0, 2) + big(9, 4) + big(9, 4) +
                             big(0, 8) + big(0, 16) + big(16'384, 2)},
      {"gdal", "<VRTDataset rasterXSize=\"9\" rasterYSize=\"9\"><SourceFilename>"s + kBait +
                   "</SourceFilename></VRTDataset>"},
      {"hdr", "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 60000 +X 60000\n"},
      {"sun", "\x59\xa6\x6a\x95"s + big(60'000, 4) + big(60'000, 4) + big(24, 4) + big(0, 16)},
      {"exr", "\x76\x2f\x31\x01"s + big(2, 4) + std::string(64, '\0')},
      {"pfm", "PF\n60000 60000\n-1.0\n"},
      {"svg", "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60000\" height=\"60000\"/>"},
      {"empty", ""},
  };
  for (const auto& [name, bytes] : images)
    for (const char* extension : {".png", ".tif"})
      cases.push_back({std::string("image.") + name + extension, "a"s + extension, bytes});
}

std::vector<HostileSource> source_cases() {
  std::vector<HostileSource> cases;
  add_playlists(cases);
  add_lists_by_name(cases);
  add_images(cases);
  return cases;
}

double cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST(HostileSources, AreEnoughAndHaveUniqueNames) {
  const std::vector<HostileSource> cases = source_cases();
  std::set<std::string> names;
  for (const HostileSource& one : cases) names.insert(one.name);
  EXPECT_EQ(names.size(), cases.size());
  EXPECT_GE(cases.size(), 250u);
  std::printf("%zu cases\n", cases.size());
}

TEST(HostileSources, AreRefused) {
  // Libraries are loaded now, and not while memory is measured.
  const TemporaryFolder sound;
  open_source(sound.write("small.ppm", "P6 4 3 255\n" + std::string(36, 'x')).string());
  for (const HostileSource& one : source_cases()) {
    SCOPED_TRACE(one.name);
    const TemporaryFolder folder;
    const std::string bait = (folder / kBait).string();
    ASSERT_EQ(::mkfifo(bait.c_str(), 0600), 0);
    const std::string path = folder.write("list/" + one.file, one.bytes).string();
    ASSERT_EQ(::mkfifo((folder.path() / "list" / kBait).c_str(), 0600), 0);
    const PeakMemory memory;
    const double began = cpu_time();
    EXPECT_THROW(open_source(one.prefix + path), SourceError);
    EXPECT_LE(cpu_time() - began, kMostSeconds);
    EXPECT_LE(memory.kib(), kMostMemoryKiB);
  }
}

}  // namespace
}  // namespace vcap
