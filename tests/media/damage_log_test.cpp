// SPDX-License-Identifier: Apache-2.0
#include "media/damage_log.hpp"

extern "C" {
#include <libavutil/avutil.h>
}

#include <gtest/gtest.h>

namespace vcap::test {
namespace {

TEST(DamageLog, FindsThePictureAfterTheMissingOne) {
  DamageLog log;
  for (const int time : {0, 4, 2, 1, 3}) log.went_in(time);  // in the order of decoding
  log.note();                                                // the decoder will not give picture 3
  for (const int time : {0, 1, 2}) EXPECT_FALSE(log.came_out(time)) << time;
  EXPECT_TRUE(log.came_out(4));
  log.went_in(5);
  EXPECT_FALSE(log.came_out(5));
  const MissingPictures missing = log.take_missing();
  EXPECT_EQ(missing.count, 1);
  EXPECT_EQ(missing.first, std::vector<std::int64_t>{3});
  EXPECT_EQ(log.take_missing().count, 0);
}

TEST(DamageLog, CountsEachMissingPictureHoweverEarlyItsDamageIsReported) {
  DamageLog log;
  for (int time = 0; time < 8; ++time) log.went_in(time);
  for (int i = 0; i < 3; ++i) log.note();  // of 2, 4 and 7, before any picture came out
  for (const int time : {0, 1, 3, 5, 6}) EXPECT_EQ(log.came_out(time), time == 3 || time == 5);
  EXPECT_EQ(log.take_missing().count, 2);
  log.end();
  EXPECT_EQ(log.take_missing().first, std::vector<std::int64_t>{7});
}

TEST(DamageLog, CountsNothingAtTheEndWithoutDamage) {
  DamageLog log;
  log.went_in(0);
  log.end();
  EXPECT_EQ(log.take_missing().count, 0);
}

TEST(DamageLog, ReportsNoDamageForPicturesThatAreNotShown) {
  DamageLog log;
  for (const int time : {0, 1, 2, 3}) log.went_in(time);
  EXPECT_FALSE(log.came_out(0));
  EXPECT_FALSE(log.came_out(2)) << "no damage was reported yet";
  log.note();
  EXPECT_FALSE(log.came_out(3)) << "no picture is missing here";
}

TEST(DamageLog, TakesTheNextPictureWhenThereAreNoTimes) {
  DamageLog log;
  log.went_in(AV_NOPTS_VALUE);
  EXPECT_FALSE(log.came_out(AV_NOPTS_VALUE));
  log.note();
  EXPECT_TRUE(log.came_out(AV_NOPTS_VALUE));
  EXPECT_FALSE(log.came_out(AV_NOPTS_VALUE));
}

TEST(DamageLog, HandlesLongDamage) {
  DamageLog log;
  for (int time = 0; time < 100'000; ++time) {
    log.went_in(time);
    log.note();
  }
  EXPECT_TRUE(log.came_out(99'999));
  const MissingPictures missing = log.take_missing();
  EXPECT_EQ(missing.count, 99'999);
  EXPECT_EQ(missing.first, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  log.went_in(100'000);
  EXPECT_FALSE(log.came_out(100'000));
}

}  // namespace
}  // namespace vcap::test
