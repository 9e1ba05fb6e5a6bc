// SPDX-License-Identifier: Apache-2.0
#include "streams/route_changes.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "support/every_schedule.hpp"

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

/// Frames begin with the current route, are dropped, or are delivered in order; each change of the
/// route replaces one capsule of two. In every order, records list each change once, and lanes()
/// has a lane as long as a frame may use it.
TEST(RouteChanges, ListsEachChangeOnceAndKnowsLanesInUseInEverySchedule) {
  static constexpr std::int64_t kFrames = 3;
  static constexpr int kChanges = 3;
  const std::size_t schedules = run_every_schedule([](Choices& choices) {
    struct Begun {
      std::int64_t index;
      std::shared_ptr<const Route> route;
    };
    struct Replaced {
      std::int64_t index;  ///< of the first frame with the new capsule
      int version;
    };
    RouteChanges changes;
    std::deque<Begun> in_flight;
    std::deque<Replaced> unlisted;
    std::int64_t next = 0;
    int version = 0;
    changes.set(route_of({lane(), lane()}));
    const auto change = [&] {
      std::vector<std::shared_ptr<CapsuleLane>> lanes;
      for (const Route::Stop& stop : changes.route()->stops) lanes.push_back(stop.lane);
      lanes[static_cast<std::size_t>(version % 2)] = lane();
      const auto now = route_of(std::move(lanes));
      changes.set(now);
      EXPECT_EQ(changes.route(), now);
      changes.add(next, {.capsule = "a", .from_version = version, .to_version = version + 1});
      unlisted.push_back({next, ++version});
    };
    const auto deliver = [&] {
      const Begun frame = std::move(in_flight.front());
      in_flight.pop_front();
      FrameRecord record = record_of(frame.index);
      changes.list(record);
      std::vector<int> listed;
      for (const auto& replacement : record.replacements) listed.push_back(replacement.to_version);
      std::vector<int> expected;
      for (; !unlisted.empty() && unlisted.front().index <= frame.index; unlisted.pop_front())
        expected.push_back(unlisted.front().version);
      EXPECT_EQ(listed, expected) << "frame " << frame.index;
    };
    const auto check_lanes = [&] {
      std::set<std::shared_ptr<CapsuleLane>> used;
      for (const Route::Stop& stop : changes.route()->stops) used.insert(stop.lane);
      for (const Begun& frame : in_flight)
        for (const Route::Stop& stop : frame.route->stops) used.insert(stop.lane);
      const auto lanes = changes.lanes();
      EXPECT_EQ(lanes.size(), used.size()) << "a lane is there twice, or is missing";
      EXPECT_EQ(std::set(lanes.begin(), lanes.end()), used);
    };
    std::vector<Event> events;
    do {
      check_lanes();
      events = {{next < kFrames,
                 [&] {
                   in_flight.push_back({next++, changes.route()});
                 }},
                {next == 1, [&] { ++next; }},  // the second frame is dropped
                {!in_flight.empty(), deliver},
                {version < kChanges, change}};
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
    for (const Replaced& left : unlisted)
      EXPECT_GE(left.index, kFrames) << "version " << left.version << " was not listed";
  });
  EXPECT_GT(schedules, 500u);
}

}  // namespace
}  // namespace vcap::test
