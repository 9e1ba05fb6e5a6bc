// SPDX-License-Identifier: Apache-2.0
// The parts of a stream's summary: time, places, tracks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <numeric>
#include <random>

#include "view/heat_grid.hpp"
#include "view/time_parts.hpp"
#include "view/track_table.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(TimeParts, CountsInPartsOfATenthOfASecond) {
  TimeParts parts;
  for (const auto pts : {0ms, 40ms, 80ms, 120ms}) {
    ++parts.at(pts).frames;
    parts.add(pts, 1, 2);
  }
  ASSERT_THAT(parts.parts(), SizeIs(2));
  EXPECT_EQ(parts.parts()[0].frames, 3);
  EXPECT_DOUBLE_EQ(parts.mean(0, 1), 2);
  EXPECT_DOUBLE_EQ(parts.mean(0, 0), 0);
  EXPECT_DOUBLE_EQ(parts.mean(0, 9), 0) << "a series that was never counted";
}

TEST(TimeParts, NeverHaveMoreThanTheMostAndLoseNoCount) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    TimeParts parts;
    std::int64_t frames = 0, objects = 0;
    std::chrono::nanoseconds pts = 0s;
    for (int i = 0; i < 400; ++i) {
      pts += std::chrono::milliseconds(random() % (1u << random() % 24));
      const auto count = static_cast<std::int64_t>(random() % 5);
      ++parts.at(pts).frames;
      parts.add(pts, random() % 3, count);
      ++frames;
      objects += count;
    }
    ASSERT_LE(parts.parts().size(), TimeParts::kMost);
    ASSERT_LT(pts / parts.length_of_part(), static_cast<std::int64_t>(parts.parts().size()));
    for (const TimeParts::Part& part : parts.parts()) {
      frames -= part.frames;
      objects -= std::accumulate(part.counts.begin(), part.counts.end(), std::int64_t{0});
    }
    ASSERT_EQ(frames, 0);
    ASSERT_EQ(objects, 0);
  }
}

TEST(TimeParts, CountATimeBeforeTheStartAsTheStart) {
  TimeParts parts;
  ++parts.at(-5s).frames;
  EXPECT_EQ(parts.parts().at(0).frames, 1);
}

TEST(HeatGrid, CountsTheMiddleOfTheLowerEdge) {
  HeatGrid grid;
  grid.add({.x1 = 300, .y1 = 100, .x2 = 340, .y2 = 359}, {640, 360});
  EXPECT_EQ(grid.at(HeatGrid::kRows - 1, HeatGrid::kColumns / 2), 1u);
  EXPECT_EQ(grid.largest(), 1u);
}

TEST(HeatGrid, CountsTheEdgesOfThePictureAndNothingBeyond) {
  HeatGrid grid;
  grid.add({.x1 = 640, .y1 = 0, .x2 = 640, .y2 = 360}, {640, 360});
  EXPECT_EQ(grid.at(HeatGrid::kRows - 1, HeatGrid::kColumns - 1), 1u);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const BoundingBox& box : {BoundingBox{-9, 0, -1, 10}, BoundingBox{0, 0, 10, 361},
                                 BoundingBox{nan, 0, 1, nan}, BoundingBox{0, 0, 1e300, 1}})
    grid.add(box, {640, 360});
  grid.add({.x1 = 0, .y1 = 0, .x2 = 1, .y2 = 1}, {});  // an unknown picture
  std::uint32_t all = 0;
  for (std::size_t row = 0; row < HeatGrid::kRows; ++row)
    for (std::size_t column = 0; column < HeatGrid::kColumns; ++column) all += grid.at(row, column);
  EXPECT_EQ(all, 1u);
}

class TrackTableTest : public testing::Test {
 protected:
  Uuid next_id() { return Uuid::random(random_); }
  static constexpr BoundingBox kBox{0, 0, 10, 20};

  std::mt19937_64 random_{3};
  TrackTable table_{3};
};

TEST_F(TrackTableTest, KnowsWhenATrackWasSeenAndItsLargestBox) {
  const Uuid id = next_id();
  table_.see(id, 0, kBox, 1s, 10);
  table_.see(id, 0, {0, 0, 30, 60}, 2s, 20);
  table_.see(id, 0, kBox, 4s, 40);
  ASSERT_THAT(table_.longest(), SizeIs(1));
  const SeenTrack track = table_.longest()[0];
  EXPECT_EQ(track.id, id);
  EXPECT_EQ(track.begin, 1s);
  EXPECT_EQ(track.dwell(), 3s);
  EXPECT_EQ(track.begin_frame, 10);
  EXPECT_EQ(track.frames, 3);
  EXPECT_EQ(track.largest.x2, 30);
  EXPECT_EQ(track.largest_at, 2s);
}

TEST_F(TrackTableTest, KeepsTheLongestTracksInTheOrderOfTheirBegin) {
  std::vector<Uuid> ids;
  for (const auto& [begin, dwell] :
       {std::pair(5s, 9s), std::pair(1s, 1s), std::pair(2s, 30s), std::pair(0s, 2s)}) {
    ids.push_back(next_id());
    table_.see(ids.back(), 0, kBox, begin, 0);
    table_.see(ids.back(), 0, kBox, begin + dwell, 1);
  }
  std::vector<Uuid> kept;
  for (const SeenTrack& track : table_.longest()) kept.push_back(track.id);
  EXPECT_THAT(kept, ElementsAre(ids[3], ids[2], ids[0]));
  EXPECT_EQ(table_.tracks(), 4u);
  EXPECT_EQ(table_.dwell_times().at(0).count(), 4u);
  EXPECT_FALSE(table_.has_dropped());
}

TEST_F(TrackTableTest, DropsTheTracksSeenLongestAgoAndCountsAll) {
  const Uuid longest = next_id();
  table_.see(longest, 0, kBox, 0s, 0);
  table_.see(longest, 0, kBox, 900s, 1);
  const std::size_t others = 3 * TrackTable::kMostFollowed;
  for (std::size_t i = 0; i < others; ++i)
    table_.see(next_id(), 1, kBox, 1000s + std::chrono::milliseconds(i), 2);
  EXPECT_EQ(table_.tracks(), others + 1);
  EXPECT_TRUE(table_.has_dropped());
  EXPECT_EQ(table_.dwell_times().at(1).count(), others);
  EXPECT_EQ(table_.longest().front().id, longest);
}

TEST_F(TrackTableTest, DropsHalfIfAllWereSeenAtTheSameTime) {
  for (std::size_t i = 0; i <= TrackTable::kMostFollowed; ++i)
    table_.see(next_id(), 0, kBox, 1s, 0);
  EXPECT_EQ(table_.tracks(), TrackTable::kMostFollowed + 1);
  EXPECT_TRUE(table_.has_dropped());
}

TEST_F(TrackTableTest, IsEmptyWithoutTracks) {
  EXPECT_THAT(table_.longest(), IsEmpty());
  EXPECT_THAT(table_.dwell_times(), IsEmpty());
}

}  // namespace
}  // namespace vcap
