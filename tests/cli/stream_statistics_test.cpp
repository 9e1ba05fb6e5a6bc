// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_statistics.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <random>
#include <sstream>
#include <string>

namespace vcap::cli {
namespace {

using testing::HasSubstr;

Uuid track_number(std::int64_t number) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(number));
  return Uuid::random(engine);
}

std::string summary(const StreamStatistics& statistics) {
  std::ostringstream text;
  statistics.print(text, "source", {});
  return text.str();
}

TEST(StreamStatistics, CountsEachTrackOnceInALongStream) {
  StreamStatistics statistics;
  // One track lasts for all frames. A new track begins every 4 frames and lasts 4, and another one
  // begins every 8 frames and lasts 2.
  for (std::int64_t i = 0; i < 60'000; ++i) {
    FrameRecord record;
    record.frame.index = i;
    const auto see = [&](std::int64_t track) {
      record.objects.push_back({.name = "person", .track_id = track_number(track)});
    };
    see(0);
    see(1 + i / 4);
    if (i % 8 < 2) see(1'000'000 + i / 8);
    statistics.add(record);
  }
  EXPECT_THAT(summary(statistics), HasSubstr("tracks           22501, median length 4 frames"));
}

TEST(StreamStatistics, GivesTheMeanOfTheTwoMiddleLengthsAsMedian) {
  StreamStatistics statistics;
  for (std::int64_t i = 0; i < 3; ++i) {
    FrameRecord record;
    record.frame.index = i;
    record.objects.push_back({.name = "person", .track_id = track_number(1)});
    if (i == 0) record.objects.push_back({.name = "person", .track_id = track_number(2)});
    if (i < 2) record.objects.push_back({.name = "person", .track_id = track_number(3)});
    if (i < 2) record.objects.push_back({.name = "person", .track_id = track_number(4)});
    statistics.add(record);
  }
  EXPECT_THAT(summary(statistics), HasSubstr("tracks           4, median length 2 frames"));
  FrameRecord record;
  record.frame.index = 3;
  for (const std::int64_t track : {1, 3})
    record.objects.push_back({.name = "person", .track_id = track_number(track)});
  statistics.add(record);
  EXPECT_THAT(summary(statistics), HasSubstr("tracks           4, median length 2.5 frames"));
}

}  // namespace
}  // namespace vcap::cli
