// SPDX-License-Identifier: Apache-2.0
// vcap plan, and the errors of vcap run for impossible plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "loading/capsule_builder.hpp"

namespace vcap {
namespace {

using test::Result;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::MatchesRegex;

/// A capsule that is never run: it takes nodes `needs` and adds nodes `gives`.
std::string described(const TemporaryFolder& folder, const std::string& name,
                      const std::string& needs, const std::string& gives) {
  const CapsuleInfo info{
      .name = name,
      .version = 1,
      .input_type = {.size = NodeDescription::Size::all, .detections = {needs}},
      .output_type = {.size = NodeDescription::Size::all, .detections = {gives}}};
  return folder.write(name + ".cap", test::CapsuleBuilder("no code", info).bytes()).string();
}

TEST(PlanCommand, OrdersCapsulesByWhatTheyNeed) {
  const Result result = test::vcap(
      {"plan", "--capsule", test::capsule("colorist"), "--capsule", test::capsule("finder")});

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("1. finder\n"));
  EXPECT_THAT(result.out, HasSubstr("2. colorist\n"));
}

TEST(PlanCommand, TakesCapsulesWithoutAnOptionToo) {
  const Result result =
      test::vcap({"plan", test::capsule("colorist"), "--capsule", test::capsule("finder")});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("2. colorist\n"));
}

TEST(PlanCommand, DrawsThePlan) {
  const Result result = test::vcap({"plan", "--dot", "--capsule", test::capsule("colorist"),
                                    "--capsule", test::capsule("finder")});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("capsule1 -> capsule0 [label=\"person\"];\n"));
  EXPECT_EQ(test::vcap({"plan", "--dot", "--json", "--capsule", test::capsule("finder")}).exit_code,
            2);
}

TEST(PlanCommand, GivesThePlanAsJson) {
  const Result result = test::vcap({"plan", "--json", "--capsule", test::capsule("follower"),
                                    "--capsule", test::capsule("finder")});

  const auto steps = nlohmann::json::parse(result.out).at("steps");
  EXPECT_EQ(steps.at(0).at("capsule"), "finder");
  EXPECT_EQ(steps.at(1).at("capsule"), "follower");
}

TEST(PlanCommand, LeavesOutCapsulesThatDoNotFitIfAllowed) {
  const TemporaryFolder folder;
  const std::vector<std::string> words{"plan",
                                       "--capsule",
                                       test::capsule("finder"),
                                       "--capsule",
                                       described(folder, "reader", "plate", "text"),
                                       "--leave-out"};
  const Result result = test::vcap(words);
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("1. finder\n"));
  EXPECT_THAT(result.out, HasSubstr("-  reader, left out\n   why    capsule reader needs nodes "
                                    "named plate"));

  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  EXPECT_EQ(nlohmann::json::parse(test::vcap(as_json).out).at("left_out").at(0).at("capsule"),
            "reader");
}

/// Both commands refuse the capsules before any capsule's code runs.
void expect_refused(const std::vector<std::string>& capsules, const std::string& message) {
  const TemporaryFolder folder;
  std::vector<std::string> plan{"plan"};
  std::vector<std::string> run{"run", "--source", test::images(folder, "shots", 1)};
  for (const std::string& capsule : capsules) {
    plan.insert(plan.end(), {"--capsule", capsule});
    run.insert(run.end(), {"--capsule", capsule});
  }
  for (const auto& arguments : {plan, run}) {
    const Result result = test::vcap(arguments);
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

TEST(PlanCommand, SaysWhichInputNothingProvides) {
  const TemporaryFolder folder;
  expect_refused({test::capsule("finder"), described(folder, "reader", "plate", "text")}, "plate");
}

TEST(PlanCommand, NamesTheCapsulesOfACycle) {
  const TemporaryFolder folder;
  expect_refused(
      {described(folder, "hen", "egg", "chicken"), described(folder, "hatchery", "chicken", "egg")},
      "hatchery");
}

TEST(PlanCommand, RefusesTwoCapsulesOfOneName) {
  expect_refused({test::capsule("finder"), test::capsule("finder")}, "finder");
}

}  // namespace
}  // namespace vcap
