// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/drawn_zones.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;

TEST(DrawnZones, AreTheZonesAndLinesOfRules) {
  const EventRules rules{.unit = EventRules::Unit::relative,
                         .zones = {{.name = "door", .polygon = {{0, 0}, {1, 0}, {0.5, 1}}}},
                         .lines = {{.name = "path", .from = {0.1, 0.2}, .to = {0.3, 0.4}}}};
  const ZoneSettings drawn = drawn_zones(rules);
  EXPECT_EQ(drawn, (ZoneSettings{.zones = {{.name = "door", .outline = {{0, 0}, {1, 0}, {0.5, 1}}}},
                                 .lines = {{.name = "path", .from = {0.1, 0.2}, .to = {0.3, 0.4}}},
                                 .relative = true,
                                 .counts = false}));
  EXPECT_EQ(drawn_zones({}), ZoneSettings{.counts = false}) << "pixels, and nothing to draw";
}

TEST(DrawnZones, AreNotMadeOfRulesThatAreNotValid) {
  const EventRules rules{.lines = {{.name = "path", .from = {1, 2}, .to = {1, 2}}}};
  EXPECT_THAT(
      [&] { drawn_zones(rules); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("event line \"path\"")));
}

}  // namespace
}  // namespace vcap
