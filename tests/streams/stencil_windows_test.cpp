// SPDX-License-Identifier: Apache-2.0
#include "streams/stencil_windows.hpp"

#include <gtest/gtest.h>

#include <set>

#include "streams/machine_helpers.hpp"
#include "support/every_schedule.hpp"
#include "support/program_capsule.hpp"

namespace vcap::test {
namespace {

/// A route of one capsule with that stencil, which takes all nodes, or none.
std::shared_ptr<const Route> route_of(Stencil stencil, NodeDescription::Size takes) {
  CapsuleInfo info = finder_info("notes", "note");
  info.input_type = {.size = takes};
  info.stencil = std::move(stencil);
  const NodeDescription needs = info.input_type;
  auto route = std::make_shared<Route>();
  auto capsule =
      program_capsule(std::move(info), [](const Frame&, DetectionNodes nodes, const OptionValues&,
                                          BaseStreamState&) { return nodes; });
  auto slot = std::make_shared<CapsuleSlot>(std::move(capsule), QuarantinePolicy{}, nullptr, 0,
                                            [](bool) {});
  auto plan = std::make_shared<CompiledPlan>();
  plan->push_back({.slot = std::move(slot), .needs = needs});
  route->compiled_plan = std::move(plan);
  route->stops.push_back(
      {.lane = nullptr, .health = nullptr, .arrivals = std::make_shared<Arrivals>()});
  return route;
}

std::vector<std::int64_t> indexes_of(const StepWindow& window) {
  std::vector<std::int64_t> indexes;
  for (const Frame& frame : window.frames) indexes.push_back(frame.is_null ? -1 : frame.index);
  return indexes;
}

TEST(StencilWindows, AreNotKeptWithoutAStencil) {
  StencilWindows windows;
  const auto job = job_of(0, std::make_shared<const Route>());
  EXPECT_TRUE(windows.begin(*job, 0).empty());
  EXPECT_EQ(windows.look_ahead(), 0u);
  EXPECT_TRUE(windows.end().empty());
}

TEST(StencilWindows, DoNotKeepTheRouteOfTheLastFrame) {
  auto route = route_of({{-1, 0}}, NodeDescription::Size::all);
  const std::weak_ptr<const Route> watched = route;
  StencilWindows windows;
  windows.extend(*route->compiled_plan);
  windows.begin(*job_of(0, std::move(route)), 0);
  EXPECT_TRUE(watched.expired()) << "it holds the capsules, which may have been replaced";
}

struct ReachCase {
  Stencil stencil;
  std::size_t look_ahead;
  std::vector<std::int64_t> window;  ///< of frame 1 of 3
};

TEST(StencilWindows, HoldTheFramesAtTheOffsets) {
  const ReachCase cases[] = {
      {{{-1, 0, 1}}, 1, {0, 1, 2}},
      {{{0, 2}, StencilEdge::null}, 2, {1, -1}},
      {{{0, 2}, StencilEdge::repeat}, 2, {1, 2}},
      {{{-5}, StencilEdge::null}, 0, {-1}},
  };
  for (const ReachCase& one : cases) {
    const auto route = route_of(one.stencil, NodeDescription::Size::none);
    StencilWindows windows;
    windows.extend(*route->compiled_plan);
    EXPECT_EQ(windows.look_ahead(), one.look_ahead);
    std::vector<std::unique_ptr<FrameJob>> ready;
    const auto take = [&ready](ReadyJobs jobs) {
      for (auto& job : jobs) ready.push_back(std::move(job));
    };
    for (std::uint64_t ticket = 0; ticket < 3; ++ticket) {
      auto job = job_of(ticket, route);
      take(windows.begin(*job, 0));
      if (auto went_on = windows.await(std::move(job))) ready.push_back(std::move(went_on));
    }
    take(windows.end());
    ASSERT_EQ(ready.size(), 3u);
    for (const auto& job : ready) {
      ASSERT_TRUE(job->window);
      if (job->ticket == 1) {
        EXPECT_EQ(indexes_of(*job->window), one.window);
      }
    }
  }
}

/// Frames begin in order; their nodes arrive in any order. Whatever the order, each frame continues
/// once, with the nodes of its neighbours.
TEST(StencilWindows, GiveEachFrameItsWindowOnceInEverySchedule) {
  static constexpr std::uint64_t kFrames = 4;
  const Stencil stencil{{-1, 0, 1}};
  const auto plan = route_of(stencil, NodeDescription::Size::all)->compiled_plan;
  const std::size_t schedules = run_every_schedule([&plan](Choices& choices) {
    auto route = std::make_shared<Route>();
    route->compiled_plan = plan;
    route->stops.push_back(
        {.lane = nullptr, .health = nullptr, .arrivals = std::make_shared<Arrivals>()});
    StencilWindows windows;
    windows.extend(*plan);
    std::uint64_t begun = 0;
    bool ended = false;
    std::vector<std::unique_ptr<FrameJob>> lacking_nodes(kFrames);
    std::set<std::uint64_t> arrived;
    std::set<std::uint64_t> went_on;
    const auto check = [&](const FrameJob& job) {
      EXPECT_TRUE(went_on.insert(job.ticket).second) << "frame " << job.ticket << " twice";
      ASSERT_TRUE(job.window);
      for (std::uint64_t near : {job.ticket - 1, job.ticket, job.ticket + 1})
        if (near < kFrames) {
          EXPECT_TRUE(arrived.contains(near)) << near;
        }
      ASSERT_EQ(job.window->nodes.size(), 3u);
      EXPECT_FALSE(job.window->nodes[1]) << "the frame's own nodes are not in the window";
    };
    const auto check_all = [&](const ReadyJobs& jobs) {
      for (const auto& job : jobs) check(*job);
    };
    const auto begin = [&] {
      auto job = job_of(begun, route);
      check_all(windows.begin(*job, 0));
      EXPECT_TRUE(job->hands_in_nodes());
      lacking_nodes[begun++] = std::move(job);
    };
    const auto arrive = [&](std::uint64_t ticket) {
      auto job = std::move(lacking_nodes[ticket]);
      arrived.insert(ticket);
      check_all(windows.hand_in(*job, StencilWindows::nodes_of(*job)));
      if (const auto ready = windows.await(std::move(job))) check(*ready);
    };
    std::vector<Event> events;
    do {
      events = {{begun < kFrames, begin}, {begun == kFrames && !ended, [&] {
                                             ended = true;
                                             check_all(windows.end());
                                           }}};
      for (std::uint64_t ticket = 0; ticket < begun; ++ticket)
        events.push_back({lacking_nodes[ticket] != nullptr, [&, ticket] { arrive(ticket); }});
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
    EXPECT_EQ(went_on.size(), kFrames);
  });
  EXPECT_GT(schedules, 200u);
}

}  // namespace
}  // namespace vcap::test
