// SPDX-License-Identifier: Apache-2.0
#include "files/frame_pool.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

namespace vcap {
namespace {

constexpr std::size_t kPage = 4096;

TEST(FramePool, GivesPicturesOfItsOwnMemory) {
  FramePool pool(100 * kPage);
  cv::Mat picture = pool.allocate({101, 33}, CV_8UC3);
  ASSERT_FALSE(picture.empty());
  EXPECT_EQ(picture.size(), cv::Size(101, 33));
  EXPECT_EQ(picture.type(), CV_8UC3);
  EXPECT_TRUE(picture.isContinuous());
  EXPECT_EQ(pool.offset_of(picture), 0u);
  EXPECT_EQ(pool.offset_of(picture(cv::Rect(2, 1, 3, 3))), 101u * 3 + 2 * 3);
  const cv::Mat other = pool.allocate({10, 10}, CV_32FC1);
  EXPECT_EQ(pool.offset_of(other), 3 * kPage) << "behind 101 x 33 x 3 bytes";
  EXPECT_EQ(pool.offset_of(picture.clone()), std::nullopt);
  EXPECT_EQ(pool.offset_of(cv::Mat()), std::nullopt);
  EXPECT_EQ(pool.statistics().used, 4 * kPage);
  EXPECT_EQ(pool.statistics().pictures, 2u);
}

TEST(FramePool, TakesAPictureBackWithItsLastReference) {
  FramePool pool(10 * kPage);
  cv::Mat picture = pool.allocate({100, 100}, CV_8UC1);
  cv::Mat crop;
  {
    const cv::Mat copy = picture;
    crop = copy(cv::Rect(1, 1, 2, 2));
  }
  picture.release();
  EXPECT_EQ(pool.statistics().pictures, 1u) << "the crop has all of it";
  crop.create(500, 500, CV_8UC1);
  EXPECT_EQ(pool.offset_of(crop), std::nullopt) << "a new size is not in the pool";
  EXPECT_EQ(pool.statistics().pictures, 0u);
  EXPECT_EQ(pool.statistics().used, 0u);
  EXPECT_EQ(pool.statistics().most, 3 * kPage);
}

TEST(FramePool, GivesNothingWithoutRoom) {
  FramePool pool(4 * kPage);
  std::vector<cv::Mat> pictures;
  for (int i = 0; i < 4; ++i) pictures.push_back(pool.allocate({64, 64}, CV_8UC1));
  EXPECT_TRUE(pool.allocate({1, 1}, CV_8UC1).empty());
  pictures.erase(pictures.begin() + 1, pictures.begin() + 3);
  EXPECT_TRUE(pool.allocate({64, 64}, CV_8UC3).empty()) << "two pages are free, and not three";
  const cv::Mat two = pool.allocate({64, 64}, CV_8UC2);
  EXPECT_EQ(pool.offset_of(two), kPage) << "the two are one again";
  EXPECT_TRUE(pool.allocate({2'000'000'000, 2'000'000'000}, CV_64FC(500)).empty());
  EXPECT_EQ(pool.statistics().refused, 3u);
  EXPECT_TRUE(pool.allocate({0, 5}, CV_8UC1).empty());
  EXPECT_TRUE(pool.allocate({-1, 5}, CV_8UC1).empty());
}

TEST(FramePool, IsOutlivedByItsPictures) {
  auto pool = std::make_unique<FramePool>(kPage);
  cv::Mat picture = pool->allocate({64, 64}, CV_8UC1);
  pool.reset();
  picture.setTo(7);
  EXPECT_EQ(cv::countNonZero(picture), 64 * 64);
}

TEST(FramePool, CanOnlyBeReadByOthers) {
  FramePool pool(kPage);
  cv::Mat picture = pool.allocate({64, 64}, CV_8UC1);
  const int file = pool.descriptor();
  const void* const read = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(read, MAP_FAILED);
  picture.setTo(7);
  EXPECT_EQ(std::memcmp(read, picture.data, kPage), 0) << "written after the other mapping";
  EXPECT_EQ(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(::mprotect(const_cast<void*>(read), kPage, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::ftruncate(file, 0), 0);
  EXPECT_NE(::ftruncate(file, 2 * kPage), 0);
  EXPECT_LT(::pwrite(file, "x", 1, 0), 0);
  EXPECT_NE(::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage), 0);
  EXPECT_NE(::fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(picture.at<uchar>(0, 0), 7);
  ::munmap(const_cast<void*>(read), kPage);
}

TEST(FramePool, RefusesASizeThatTheSystemDoesNotHave) {
  EXPECT_THROW(FramePool(std::size_t{1} << 60), std::system_error);
}

TEST(FramePool, NeverGivesAPlaceTwice) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  FramePool pool(200 * kPage);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&pool, seed, i] {
      std::mt19937 random(seed + i);
      std::vector<std::pair<cv::Mat, uchar>> held;
      for (int round = 0; round < 2000; ++round) {
        const cv::Size size(1 + static_cast<int>(random() % 300),
                            1 + static_cast<int>(random() % 100));
        const auto value = static_cast<uchar>(random());
        if (cv::Mat picture = pool.allocate(size, CV_8UC1); !picture.empty()) {
          picture.setTo(value);
          held.emplace_back(std::move(picture), value);
        }
        if (held.size() < 20 && random() % 2 == 0) continue;
        const std::size_t one = held.empty() ? 0 : random() % held.size();
        if (held.empty()) continue;
        EXPECT_EQ(cv::countNonZero(held[one].first != held[one].second), 0);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(one));
      }
    });
  threads.clear();
  EXPECT_EQ(pool.statistics().used, 0u);
  const cv::Mat whole = pool.allocate({static_cast<int>(kPage), 200}, CV_8UC1);
  EXPECT_EQ(pool.offset_of(whole), 0u) << "all free places are one again";
}

}  // namespace
}  // namespace vcap
