// SPDX-License-Identifier: Apache-2.0
// The compact index is compared with a plain list of all pictures.
#include "media/video_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace vcap::test {
namespace {

struct Shown {
  std::int64_t ticks = 0;
  bool is_key = false;
};

/// By sorting all pictures; `nullopt` if they have no index.
std::optional<std::vector<Shown>> plain_index(std::vector<Shown> pictures) {
  if (pictures.empty()) return std::nullopt;
  const Shown first = pictures.front();
  std::ranges::sort(pictures, {}, &Shown::ticks);
  if (pictures.front().ticks != first.ticks || !first.is_key || first.ticks < 0 ||
      std::ranges::adjacent_find(pictures, {}, &Shown::ticks) != pictures.end())
    return std::nullopt;
  return pictures;
}

std::shared_ptr<const VideoIndex> compact_index(const std::vector<Shown>& pictures,
                                                AVRational time_base) {
  VideoIndex::Builder builder(time_base);
  for (const Shown& picture : pictures) builder.add(picture.ticks, picture.is_key);
  return builder.finish();
}

void expect_same(const VideoIndex& index, const std::vector<Shown>& plain, AVRational time_base) {
  ASSERT_EQ(index.size(), static_cast<std::int64_t>(plain.size()));
  std::int64_t key = 0;
  for (std::int64_t i = 0; i < index.size(); ++i) {
    const Shown& picture = plain[static_cast<std::size_t>(i)];
    if (picture.is_key) key = i;
    ASSERT_EQ(index.time(i), to_nanoseconds(picture.ticks, time_base)) << i;
    ASSERT_EQ(index.key_before(i), key) << i;
  }
}

TEST(VideoIndex, IsThatOfSortedPictures) {
  std::mt19937 random(7);
  int indexed = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const AVRational time_base = round % 2 == 0 ? AVRational{1, 1000} : AVRational{1, 90000};
    const auto below = [&](int most) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
    };
    // In the order in which they are shown: constant rate, rounded times, or any.
    std::vector<Shown> pictures;
    const std::int64_t kind = below(3);
    const std::int64_t count = below(900);
    const std::int64_t keys = 1 + below(60);
    std::int64_t ticks = below(20) == 0 ? -5 : below(3);
    for (std::int64_t i = 0; i < count; ++i) {
      pictures.push_back({ticks, i == 0 || i % keys == 0 || below(90) == 0});
      ticks += kind == 0 ? 3003 : kind == 1 ? 33 + (i % 3 == 0 ? 1 : 0) : 1 + below(5000);
    }
    // In decoding order: a picture comes before some that are shown earlier.
    const std::int64_t most_back = below(9);
    for (std::size_t i = 1; i < pictures.size();) {
      const std::size_t group =
          1 + static_cast<std::size_t>(below(static_cast<int>(most_back + 1)));
      const std::size_t end = std::min(i + group, pictures.size());
      std::rotate(pictures.begin() + static_cast<std::ptrdiff_t>(i),
                  pictures.begin() + static_cast<std::ptrdiff_t>(end) - 1,
                  pictures.begin() + static_cast<std::ptrdiff_t>(end));
      i = end;
    }
    // Now and then: two times are the same, the first one is no keyframe, or the order is strange.
    if (!pictures.empty()) {
      const auto any = [&] { return pictures.begin() + below(static_cast<int>(pictures.size())); };
      if (below(8) == 0) any()->ticks = any()->ticks;
      if (below(20) == 0) pictures.front().is_key = false;
      if (below(20) == 0) std::shuffle(pictures.begin(), pictures.end(), random);
      if (below(5) == 0) std::shuffle(pictures.begin() + 1, pictures.end(), random);
    }
    const auto plain = plain_index(pictures);
    const auto index = compact_index(pictures, time_base);
    ASSERT_EQ(index != nullptr, plain.has_value());
    if (!index) continue;
    ++indexed;
    expect_same(*index, *plain, time_base);
    const auto restored = VideoIndex::restore(index->save(), time_base);
    ASSERT_TRUE(restored);
    expect_same(*restored, *plain, time_base);
  }
  EXPECT_GT(indexed, 200);
}

TEST(VideoIndex, IsAbsentIfTwoTimesAreTheSameInNanoseconds) {
  EXPECT_NE(compact_index({{0, true}, {31, false}, {32, false}}, {1, 1'000'000'000}), nullptr);
  EXPECT_EQ(compact_index({{0, true}, {31, false}, {32, false}}, {1, 2'000'000'000}), nullptr);
}

TEST(VideoIndex, IsRestoredOnlyFromBytesThatMakeOne) {
  constexpr AVRational kTimeBase{1, 90000};
  std::vector<Shown> pictures;
  for (std::int64_t i = 0; i < 600; ++i) pictures.push_back({3003 * i + i * i % 5, i % 50 == 0});
  const std::string saved = compact_index(pictures, kTimeBase)->save();
  EXPECT_FALSE(VideoIndex::restore(saved, {1, 1000})) << "of a video with another time base";
  EXPECT_FALSE(VideoIndex::restore(saved + '0', kTimeBase));
  EXPECT_FALSE(VideoIndex::restore("", kTimeBase));
  std::mt19937_64 random(5);
  int restored = 0;
  for (int round = 0; round < 800; ++round) {
    std::string damaged = saved;
    for (std::uint64_t i = 1 + random() % 2; i > 0; --i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto index = VideoIndex::restore(damaged, kTimeBase);
    if (!index) continue;
    ++restored;
    ASSERT_GE(index->time(0).count(), 0);
    for (std::int64_t i = 1; i < std::min<std::int64_t>(index->size(), 1000); ++i) {
      ASSERT_GT(index->time(i), index->time(i - 1));
      ASSERT_GE(index->key_before(i), index->key_before(i - 1));
      ASSERT_LE(index->key_before(i), i);
    }
  }
  EXPECT_GT(restored, 50) << "too few are damaged in a way that only a reader of the video notices";
  const auto too_fine = compact_index({{0, true}, {30, false}}, {1, 2'000'000'000});
  ASSERT_TRUE(too_fine);
  EXPECT_EQ(too_fine->save(), "");
}

TEST(VideoIndex, OfTenHoursTakesLittleMemory) {
  VideoIndex::Builder builder({1, 12800});
  constexpr std::int64_t kFrames = 10 * 3600 * 25;
  // Each fourth frame comes before the three that are shown before it.
  builder.add(0, true);
  for (std::int64_t i = 1; i + 4 <= kFrames; i += 4)
    for (const std::int64_t ahead : {3, 0, 1, 2})
      builder.add(512 * (i + ahead), (i + ahead) % 200 == 0);
  const auto index = builder.finish();
  ASSERT_TRUE(index);
  EXPECT_LT(index->bytes(), 2000u);
  EXPECT_LT(index->save().size(), 300u);
  EXPECT_EQ(index->time(kFrames / 2), std::chrono::hours(5));
  EXPECT_EQ(index->key_before(kFrames / 2 + 150), kFrames / 2);
}

}  // namespace
}  // namespace vcap::test
