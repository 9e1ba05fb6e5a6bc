// SPDX-License-Identifier: Apache-2.0
#include "streams/step_calls.hpp"

#include <gtest/gtest.h>

#include "streams/machine_helpers.hpp"
#include "support/every_schedule.hpp"
#include "support/program_capsule.hpp"

namespace vcap::test {
namespace {

using CapsuleError = FrameRecord::CapsuleError;

/// A route of one step, whose capsule takes nodes named "box" in that size.
std::shared_ptr<const Route> route_of(NodeDescription::Size size) {
  CapsuleInfo info = finder_info("notes", "note");
  info.input_type = {.size = size};
  if (size != NodeDescription::Size::none) info.input_type.detections = {"box"};
  info.output_type.size = size == NodeDescription::Size::single ? NodeDescription::Size::single
                                                                : NodeDescription::Size::all;
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
  route->stops.emplace_back();
  return route;
}

DetectionNode node(std::string name, std::vector<DetectionNode> children = {}) {
  DetectionNode one{.name = std::move(name)};
  one.children = std::move(children);
  return one;
}

/// "box(box),note": the names of a tree.
std::string names_of(const std::vector<DetectionNode>& nodes) {
  std::string text;
  for (const DetectionNode& one : nodes) {
    if (!text.empty()) text += ',';
    text += one.name;
    if (!one.children.empty()) text += '(' + names_of(one.children) + ')';
  }
  return text;
}

TEST(StepCalls, HasOneCallIfThereAreNoNodes) {
  const auto job = job_of(0, route_of(NodeDescription::Size::none));
  job->record.objects = {node("box")};
  auto calls = StepCalls::begin(*job);
  ASSERT_TRUE(calls);
  EXPECT_TRUE(calls->is_one_call());
  EXPECT_EQ(calls->begin_call(), 0u);
  EXPECT_FALSE(calls->begin_call());
  EXPECT_TRUE(calls->end_call(0, std::vector{node("note")}));
  EXPECT_EQ(names_of(job->record.objects), "box") << "before finish()";
  EXPECT_FALSE(calls->next_round(job->record));
  calls->finish(job->record);
  EXPECT_EQ(names_of(job->record.objects), "box,note");
}

TEST(StepCalls, HasNoCallsIfNoNodeIsSingle) {
  const auto job = job_of(0, route_of(NodeDescription::Size::single));
  job->record.objects = {node("tree")};
  EXPECT_FALSE(StepCalls::begin(*job));
  EXPECT_TRUE(job->record.errors.empty());
}

TEST(StepCalls, HasNoCallsAtAnEdgeThatIsAnError) {
  const auto job = job_of(0, route_of(NodeDescription::Size::none));
  job->window.emplace().missing = -1;
  EXPECT_FALSE(StepCalls::begin(*job));
  ASSERT_EQ(job->record.errors.size(), 1u);
  EXPECT_EQ(job->record.errors[0].code, "stencil_edge");
}

TEST(StepCalls, KeepsTheNodesIfTheCallFails) {
  const auto job = job_of(0, route_of(NodeDescription::Size::all));
  job->record.objects = {node("box"), node("box")};
  auto calls = StepCalls::begin(*job);
  ASSERT_TRUE(calls);
  EXPECT_EQ(calls->begin_call(), 0u);
  calls->end_call(0, CapsuleError{"notes", "exception", "it failed"});
  calls->next_round(job->record);
  calls->finish(job->record);
  EXPECT_EQ(names_of(job->record.objects), "box,box");
  ASSERT_EQ(job->record.errors.size(), 1u);
  EXPECT_EQ(job->record.errors[0].message, "it failed");
}

TEST(StepCalls, ReportsTheSameErrorOfSeveralNodesOnce) {
  const auto job = job_of(0, route_of(NodeDescription::Size::single));
  job->record.errors = {{"earlier", "exception", "it failed"}};
  job->record.objects = {node("box"), node("box"), node("box")};
  auto calls = StepCalls::begin(*job);
  ASSERT_TRUE(calls);
  for (const char* message : {"it failed", "another way", "it failed"}) {
    const auto call = calls->begin_call();
    calls->end_call(*call, CapsuleError{"notes", "exception", message});
  }
  EXPECT_FALSE(calls->next_round(job->record));
  calls->finish(job->record);
  ASSERT_EQ(job->record.errors.size(), 3u);
  EXPECT_EQ(job->record.errors[0].message, "it failed");
  EXPECT_EQ(job->record.errors[1].message, "it failed (on 2 nodes)");
  EXPECT_EQ(job->record.errors[2].message, "another way");
}

TEST(StepCalls, BoundsTheReportsOnManyNodes) {
  const auto job = job_of(0, route_of(NodeDescription::Size::single));
  job->record.objects.assign(40, node("box"));
  auto calls = StepCalls::begin(*job);
  ASSERT_TRUE(calls);
  while (const auto call = calls->begin_call())
    calls->end_call(*call, CapsuleError{"notes", "exception", "failure " + std::to_string(*call)});
  calls->next_round(job->record);
  calls->finish(job->record);
  ASSERT_EQ(job->record.errors.size(), 16u);
  EXPECT_EQ(job->record.errors[14].message, "failure 14");
  EXPECT_EQ(job->record.errors[15].message, "failure 15 (and other reports on 24 nodes)");
}

/// One of the three calls gives more nodes than a record may have with those of the others.
TEST(StepCalls, DropsAllResultsOfARoundThatAreTooMuchInEverySchedule) {
  const auto route = route_of(NodeDescription::Size::single);
  (*route->compiled_plan)[0].slot->outputs.max_nodes = 4;
  const std::size_t schedules = run_every_schedule([&route](Choices& choices) {
    const auto job = job_of(0, route);
    job->record.objects = {node("box"), node("box"), node("box")};
    auto calls = StepCalls::begin(*job);
    ASSERT_TRUE(calls);
    std::vector<std::size_t> running;
    while (const auto call = calls->begin_call()) running.push_back(*call);
    bool last = false;
    std::vector<Event> events;
    do {
      events.clear();
      for (std::size_t i = 0; i < running.size(); ++i)
        events.push_back({true, [&, i] {
                            const std::size_t call = running[i];
                            running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
                            const std::size_t given = call == 1 ? 3 : 1;
                            last = calls->end_call(
                                call, {std::vector<DetectionNode>(given, node("new")),
                                       {.size = {.nodes = given, .bytes = 9, .levels = 1}}});
                          }});
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
    EXPECT_TRUE(last);
    EXPECT_FALSE(calls->next_round(job->record));
    calls->finish(job->record);
    EXPECT_EQ(names_of(job->record.objects), "box,box,box");
    ASSERT_EQ(job->record.errors.size(), 1u);
    EXPECT_EQ(job->record.errors[0].code, "invalid_output");
  });
  EXPECT_EQ(schedules, 6u);
}

TEST(StepCalls, StoresWarningsOfSeveralNodesOnce) {
  const auto job = job_of(0, route_of(NodeDescription::Size::single));
  job->record.objects = {node("box"), node("box")};
  auto calls = StepCalls::begin(*job);
  ASSERT_TRUE(calls);
  while (const auto call = calls->begin_call())
    calls->end_call(*call, {{node("new")}, {.size = {1, 9, 1}, .warning = "it is odd"}});
  calls->next_round(job->record);
  calls->finish(job->record);
  EXPECT_EQ(names_of(job->record.objects), "new,new");
  EXPECT_TRUE(job->record.errors.empty());
  ASSERT_EQ(job->record.warnings.size(), 1u);
  EXPECT_EQ(job->record.warnings[0].code, "invalid_output");
  EXPECT_EQ(job->record.warnings[0].message, "it is odd (on 2 nodes)");
}

/// Inner nodes first, then the nodes around them; the order in which calls end has no effect.
TEST(StepCalls, GivesTheSameTreeInEverySchedule) {
  const auto route = route_of(NodeDescription::Size::single);
  const std::size_t schedules = run_every_schedule([&route](Choices& choices) {
    const auto job = job_of(0, route);
    job->record.objects = {node("box", {node("box"), node("box")}), node("box"), node("tree")};
    auto calls = StepCalls::begin(*job);
    ASSERT_TRUE(calls);
    EXPECT_FALSE(calls->is_one_call());
    std::vector<std::size_t> running;
    std::size_t rounds = 1;
    std::size_t made = 0;
    bool left = true;
    bool over = false;
    std::vector<Event> events;
    do {
      events = {{!over && left, [&] {
                   if (const auto call = calls->begin_call()) {
                     running.push_back(*call);
                     ++made;
                   } else {
                     left = false;
                   }
                 }}};
      for (std::size_t i = 0; i < running.size(); ++i)
        events.push_back({true, [&, i] {
                            const std::size_t call = running[i];
                            running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
                            DetectionNode one = std::move(calls->nodes(call).take().front());
                            one.name = "n" + std::to_string(rounds);
                            const bool last = calls->end_call(call, std::vector{std::move(one)});
                            if (!last) return;
                            EXPECT_TRUE(running.empty());
                            over = !calls->next_round(job->record);
                            left = true;
                            if (!over) ++rounds;
                          }});
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
    EXPECT_TRUE(over);
    calls->finish(job->record);
    EXPECT_EQ(rounds, 2u);
    EXPECT_EQ(made, 4u);
    EXPECT_TRUE(job->record.errors.empty());
    EXPECT_EQ(names_of(job->record.objects).back(), 'e') << names_of(job->record.objects);
    EXPECT_TRUE(names_of(job->record.objects) == "n2(n1,n1),n1,tree" ||
                names_of(job->record.objects) == "n2(n1,n1),n2,tree")
        << names_of(job->record.objects);
  });
  EXPECT_GT(schedules, 5u);
}

}  // namespace
}  // namespace vcap::test
