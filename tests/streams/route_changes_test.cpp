// SPDX-License-Identifier: Apache-2.0
#include "streams/route_changes.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <set>

#include "streams/machine_helpers.hpp"
#include "support/every_schedule.hpp"
#include "support/runtime_fixtures.hpp"

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

std::shared_ptr<CapsuleSlot> slot_of(std::string name, double most) {
  CapsuleInfo info = detector_info(std::move(name), "person");
  info.options = {{"threshold", FloatOption{.default_value = 0.1, .min = 0, .max = most}}};
  return std::make_shared<CapsuleSlot>(
      make_capsule(std::move(info),
                   [](const auto&, auto nodes, const auto&, auto&) { return nodes; }),
      QuarantinePolicy{}, nullptr, 0, std::function<void(bool)>());
}

/// A route through one capsule, "a", whose threshold is at most `most`.
std::shared_ptr<Route> route_with_options(double most = 1) {
  auto route = std::make_shared<Route>();
  const auto slot = slot_of("a", most);
  route->stops.push_back({.lane = lane(), .health = {}, .arrivals = {}});
  route->options.push_back(slot->capsule->default_options());
  route->compiled_plan = std::make_shared<const CompiledPlan>(CompiledPlan{{.slot = slot}});
  return route;
}

/// As Stream: sets the option for later frames, and returns the first frame that has it.
std::int64_t change(RouteChanges& changes, double value, std::int64_t unread) {
  auto next = std::make_shared<Route>(*changes.route());
  next->options[0].set("threshold", value);
  const std::int64_t from =
      changes.change_option(*next, {.capsule = "a", .option = "threshold", .value = value}, unread);
  changes.set(next);
  return from;
}

double threshold_of(const FrameJob& job) { return job.route->options[0].get<double>("threshold"); }

TEST(RouteChanges, GiveAFrameTheOptionsThatHoldWhenItBegins) {
  RouteChanges changes;
  changes.set(route_with_options());
  std::vector<std::unique_ptr<FrameJob>> jobs;
  for (std::uint64_t i = 0; i < 6; ++i) jobs.push_back(job_of(i, changes.route()));
  changes.begin(*jobs[0]);
  changes.begin(*jobs[2]);  // before frame 1, which a worker has taken, too
  EXPECT_EQ(change(changes, 0.5, 6), 3);
  changes.begin(*jobs[1]);
  changes.begin(*jobs[3]);
  EXPECT_EQ(change(changes, 0.7, 6), 4);
  changes.begin(*jobs[5]);
  EXPECT_EQ(change(changes, 0.9, 6), 6);
  changes.begin(*jobs[4]);
  const auto later = job_of(6, changes.route());
  changes.begin(*later);
  std::vector<double> thresholds;
  for (const auto& job : jobs) thresholds.push_back(threshold_of(*job));
  EXPECT_EQ(thresholds, (std::vector{0.1, 0.1, 0.1, 0.5, 0.7, 0.7}));
  EXPECT_EQ(threshold_of(*later), 0.9);
  EXPECT_EQ(jobs[4]->route, jobs[5]->route) << "frames with the same options can share a batch";
  EXPECT_EQ(jobs[4]->route->compiled_plan, jobs[0]->route->compiled_plan);
}

TEST(RouteChanges, KeepTheOldValueForAVersionThatDoesNotAcceptTheNewOne) {
  RouteChanges changes;
  changes.set(route_with_options(0.5));
  const auto old = job_of(0, changes.route());
  changes.set(route_with_options(1));  // another version of the capsule
  const auto fresh = job_of(1, changes.route());
  EXPECT_EQ(change(changes, 0.8, 2), 0);
  changes.begin(*old);
  changes.begin(*fresh);
  EXPECT_EQ(threshold_of(*old), 0.1);
  EXPECT_EQ(threshold_of(*fresh), 0.8);
}

TEST(RouteChanges, ListAnOptionBeforeAReplacementThatCameFirst) {
  RouteChanges changes;
  changes.set(route_with_options());
  changes.add(5, {.capsule = "a", .from_version = 1, .to_version = 2});
  EXPECT_EQ(change(changes, 0.8, 5), 0);
  FrameRecord first = record_of(0);
  changes.list(first);
  EXPECT_EQ(first.option_changes.size(), 1u);
  EXPECT_THAT(first.replacements, testing::IsEmpty());
  FrameRecord fifth = record_of(5);
  changes.list(fifth);
  EXPECT_EQ(fifth.replacements.size(), 1u);
}

TEST(RouteChanges, ListAConfigOnceAtItsFrame) {
  RouteChanges changes;
  changes.set(route_with_options());
  const auto config = std::make_shared<const JsonValue>(JsonValue{{"zone", 3}});
  changes.add(5, {.capsule = "a", .config = config, .keep_state = false});
  FrameRecord fourth = record_of(4);
  changes.list(fourth);
  EXPECT_THAT(fourth.config_changes, testing::IsEmpty());
  FrameRecord sixth = record_of(6);  // the fifth was dropped
  changes.list(sixth);
  ASSERT_EQ(sixth.config_changes.size(), 1u);
  EXPECT_EQ(sixth.config_changes[0].config, *config);
  EXPECT_FALSE(sixth.config_changes[0].keep_state);
  EXPECT_THAT(sixth.replacements, testing::IsEmpty());
  EXPECT_FALSE(changes.has_unlisted());
}

/// Frames are read, begin in any order, and end in order, while the option is changed. In every
/// schedule, each frame has the value of the last change that holds from it or from before.
TEST(RouteChanges, HoldFromOneFrameOnInEverySchedule) {
  static constexpr std::int64_t kFrames = 3;
  const std::size_t schedules = run_every_schedule([](Choices& choices) {
    RouteChanges changes;
    changes.set(route_with_options());
    std::vector<std::unique_ptr<FrameJob>> jobs;
    std::vector<std::pair<std::int64_t, double>> values{{0, 0.1}};  // from that frame on
    std::size_t delivered = 0;
    const auto begins = [&](std::size_t i) { return i < jobs.size() && !jobs[i]->has_options; };
    const auto make_change = [&] {
      const double value = 0.1 * static_cast<double>(values.size() + 1);
      const auto unread = static_cast<std::int64_t>(jobs.size());
      const std::int64_t from = change(changes, value, unread);
      std::int64_t expected = 0;
      for (const auto& job : jobs)
        if (job->has_options) expected = job->record.frame.index + 1;
      EXPECT_EQ(from, expected);
      values.emplace_back(from, value);
    };
    const auto check = [&](const FrameJob& job) {
      double expected = 0;
      for (const auto& [from, value] : values)
        if (from <= job.record.frame.index) expected = value;
      EXPECT_EQ(threshold_of(job), expected) << "frame " << job.record.frame.index;
    };
    std::vector<Event> events;
    do {
      events = {{static_cast<std::int64_t>(jobs.size()) < kFrames,
                 [&] { jobs.push_back(job_of(jobs.size(), changes.route())); }},
                {values.size() < 3, make_change},
                {delivered < jobs.size() && jobs[delivered]->has_options, [&] {
                   check(*jobs[delivered]);
                   changes.forget_up_to(jobs[delivered++]->record.frame.index);
                 }}};
      for (std::size_t i = 0; i < static_cast<std::size_t>(kFrames); ++i)
        events.push_back({begins(i), [&changes, &jobs, i] { changes.begin(*jobs[i]); }});
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
    EXPECT_EQ(delivered, static_cast<std::size_t>(kFrames));
  });
  EXPECT_GT(schedules, 500u);
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
