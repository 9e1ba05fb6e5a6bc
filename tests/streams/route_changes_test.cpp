// SPDX-License-Identifier: Apache-2.0
#include "streams/route_changes.hpp"

#include <gtest/gtest.h>

namespace vcap::test {
namespace {

std::shared_ptr<CapsuleLane> lane() {
  return std::make_shared<CapsuleLane>(StreamInfo{.id = "stream"}, false, BatchSizes{}, 1);
}

std::shared_ptr<const Route> route_of(std::vector<std::shared_ptr<CapsuleLane>> lanes) {
  auto route = std::make_shared<Route>();
  for (auto& lane : lanes)
    route->stops.push_back({.lane = std::move(lane), .health = {}, .arrivals = {}});
  return route;
}

FrameRecord record_of(std::int64_t index) {
  FrameRecord record;
  record.frame.index = index;
  return record;
}

TEST(RouteChanges, GivesBackTheOldRoute) {
  RouteChanges changes;
  const auto first = route_of({});
  const auto second = route_of({});
  EXPECT_FALSE(changes.set(first));
  EXPECT_EQ(changes.set(second), first);
  EXPECT_EQ(changes.route(), second);
}

TEST(RouteChanges, ListsEachChangeOnceFromItsFrameOn) {
  RouteChanges changes;
  changes.add(3, {.capsule = "a", .option = "threshold", .value = 0.5});
  changes.add(5, {.capsule = "b", .from_version = 1, .to_version = 2});
  changes.add(5, {.capsule = "a", .option = "threshold", .value = 0.7});
  for (const auto& [index, options, replacements] :
       {std::tuple(2, 0u, 0u), {4, 1u, 0u}, {5, 1u, 1u}, {6, 0u, 0u}}) {
    FrameRecord record = record_of(index);
    changes.list(record);
    EXPECT_EQ(record.option_changes.size(), options) << index;
    EXPECT_EQ(record.replacements.size(), replacements) << index;
  }
}

TEST(RouteChanges, ListsLateChangesTogetherIfFramesWereDropped) {
  RouteChanges changes;
  changes.add(1, {.capsule = "a", .option = "threshold", .value = 0.5});
  changes.add(2, {.capsule = "a", .option = "threshold", .value = 0.7});
  FrameRecord record = record_of(9);
  changes.list(record);
  ASSERT_EQ(record.option_changes.size(), 2u);
  EXPECT_EQ(record.option_changes[1].value, OptionValue(0.7));
}

TEST(RouteChanges, KnowsOldLanesWhileFramesUseThem) {
  RouteChanges changes;
  const auto kept = lane();
  auto replaced = lane();
  const auto added = lane();
  auto old = route_of({kept, replaced});
  changes.set(old);
  auto in_flight = changes.set(route_of({kept, added}));
  EXPECT_EQ(changes.lanes(), (std::vector{kept, added, replaced}));
  replaced.reset();
  old.reset();
  EXPECT_EQ(changes.lanes().size(), 3u);  // a frame still has the old route
  in_flight.reset();
  EXPECT_EQ(changes.lanes(), (std::vector{kept, added}));
}

}  // namespace
}  // namespace vcap::test
