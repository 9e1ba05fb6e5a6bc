// SPDX-License-Identifier: Apache-2.0
#include "runtime/decoder_threads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/pipeline_helpers.hpp"
#include "support/footage.hpp"

namespace vcap::test {
namespace {

TEST(DecoderThreads, AreBoundedForEachVideoAndForAll) {
  const int before = DecoderThreads::in_use();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::unique_ptr<DecoderThreads>> videos;
  int all = before;
  for (int i = 0; i < 200; ++i) {
    videos.push_back(std::make_unique<DecoderThreads>());
    const int count = videos.back()->count();
    EXPECT_NE(count, 1);
    EXPECT_LE(count, std::min(cores, 4));
    all += count;
  }
  EXPECT_EQ(DecoderThreads::in_use(), all);
  EXPECT_LE(all, DecoderThreads::limit());
  EXPECT_EQ(videos.back()->count(), 0);
  videos.clear();
  EXPECT_EQ(DecoderThreads::in_use(), before);
}

TEST(DecoderThreads, AreGivenBackByVideosThatAreClosed) {
  const int before = DecoderThreads::in_use();
  {
    const auto source = open_source(footage().string());
    EXPECT_TRUE(source->read());
    if (std::thread::hardware_concurrency() > 1) {
      EXPECT_GT(DecoderThreads::in_use(), before);
    }
  }
  EXPECT_EQ(DecoderThreads::in_use(), before);
}

}  // namespace
}  // namespace vcap::test
