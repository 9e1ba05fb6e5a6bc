// SPDX-License-Identifier: Apache-2.0
#include "media/decoder_threads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <opencv2/core.hpp>

#include "base/cores.hpp"
#include "support/clip_writer.hpp"
#include "support/footage.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/sources/random_access.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::test {
namespace {

TEST(DecoderThreads, AreBoundedForEachVideoAndForAll) {
  const int before = DecoderThreads::in_use();
  const int machine = static_cast<int>(cores());
  std::vector<std::unique_ptr<DecoderThreads>> videos;
  int all = before;
  for (int i = 0; i < 200; ++i) {
    videos.push_back(std::make_unique<DecoderThreads>());
    const int count = videos.back()->count();
    EXPECT_NE(count, 1);
    EXPECT_LE(count, std::min(machine, 4));
    all += count;
  }
  EXPECT_EQ(DecoderThreads::in_use(), all);
  EXPECT_LE(all, DecoderThreads::limit());
  EXPECT_EQ(videos.back()->count(), 0);
  videos.clear();
  EXPECT_EQ(DecoderThreads::in_use(), before);
}

TEST(DecoderThreads, AreAtMostAsManyAsRequested) {
  const int machine = static_cast<int>(cores());
  EXPECT_EQ(DecoderThreads(1).count(), 0);
  EXPECT_EQ(DecoderThreads(2).count(), machine < 2 ? 0 : 2);
  EXPECT_EQ(DecoderThreads(1000).count(), DecoderThreads().count());
}

TEST(DecoderThreads, ChangeNoPixel) {
  const TemporaryFolder folder;
  const std::string clip = folder / "clip.mp4";
  write_clip(clip, {.frames = 40, .options = b_frames(false)});
  const int before = DecoderThreads::in_use();
  const auto one = open_source(clip, {.decoder_threads = 1});
  const auto of_index = one->random_access()->open_at(0);
  EXPECT_EQ(DecoderThreads::in_use(), before);
  const auto many = open_source(clip);
  for (int i = 0; i < 40; ++i) {
    const cv::Mat expected = many->read().value().image;
    for (Source* source : {one.get(), of_index.get()})
      EXPECT_EQ(cv::norm(source->read().value().image, expected, cv::NORM_INF), 0) << i;
  }
}

TEST(DecoderThreads, AreReturnedWhenAVideoIsClosed) {
  const TemporaryFolder folder;
  const std::string clip = folder / "clip.mp4";
  write_clip(clip, {.frames = 10, .options = b_frames(false)});
  const int before = DecoderThreads::in_use();
  {
    const auto source = open_source(clip, {.loop = 3});
    for (int i = 0; i < 25; ++i) EXPECT_TRUE(source->read());
    if (std::thread::hardware_concurrency() > 1) {
      EXPECT_EQ(DecoderThreads::in_use(),
                before + std::min(4, static_cast<int>(std::thread::hardware_concurrency())));
    }
  }
  EXPECT_EQ(DecoderThreads::in_use(), before);
}

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

TEST(DecoderThreads, StayWithinTheLimitForManyVideos) {
  const TemporaryFolder folder;
  const std::string clip = folder / "clip.mp4";
  write_clip(clip, {.frames = 10, .options = b_frames(false)});
  const std::ptrdiff_t before = threads_of_this_process();
  std::vector<std::unique_ptr<Source>> sources;
  for (int i = 0; i < 40; ++i) {
    sources.push_back(open_source(clip));
    EXPECT_TRUE(sources.back()->read());
  }
  EXPECT_LE(threads_of_this_process(), before + DecoderThreads::limit());
}

TEST(DecoderThreads, AreReturnedWhenTheCodecCannotUseThem) {
  const int before = DecoderThreads::in_use();
  const auto source = open_source(footage().string());  // Microsoft's MPEG-4
  EXPECT_TRUE(source->read());
  EXPECT_EQ(DecoderThreads::in_use(), before);
}

}  // namespace
}  // namespace vcap::test
