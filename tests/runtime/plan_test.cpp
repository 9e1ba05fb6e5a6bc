// SPDX-License-Identifier: Apache-2.0
#include "vcap/runtime/plan.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using Size = NodeDescription::Size;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

CapsuleInfo capsule(std::string name, NodeDescription input, NodeDescription output) {
  return {.name = std::move(name),
          .version = 1,
          .input_type = std::move(input),
          .output_type = std::move(output)};
}

NodeDescription no_nodes() { return {.size = Size::none}; }
NodeDescription all(std::string name) { return {.size = Size::all, .detections = {name}}; }
NodeDescription single(std::string name) { return {.size = Size::single, .detections = {name}}; }

NodeDescription with_color(NodeDescription description, std::vector<std::string> colors) {
  description.attributes["color"] = std::move(colors);
  return description;
}
NodeDescription tracked(NodeDescription description) {
  description.tracked = true;
  return description;
}

CapsuleInfo detector(std::string name = "detector", std::string finds = "person") {
  return capsule(std::move(name), no_nodes(), all(std::move(finds)));
}
CapsuleInfo tracker() { return capsule("tracker", all("person"), tracked(all("person"))); }
CapsuleInfo classifier() {
  return capsule("classifier", single("person"), with_color(single("person"), {"red", "blue"}));
}

std::vector<std::string> order(const Plan& plan) {
  std::vector<std::string> names;
  for (const Plan::Step& step : plan.steps()) names.push_back(step.name);
  return names;
}

TEST(Plan, PutsACapsuleAfterTheOneThatFindsItsNodes) {
  EXPECT_THAT(order(Plan({classifier(), detector()})), ElementsAre("detector", "classifier"));
}

TEST(Plan, KeepsTheGivenOrderWhereNothingForbidsIt) {
  EXPECT_THAT(order(Plan({detector(), classifier(), tracker()})),
              ElementsAre("detector", "classifier", "tracker"));
  EXPECT_THAT(order(Plan({detector(), tracker(), classifier()})),
              ElementsAre("detector", "tracker", "classifier"));
}

TEST(Plan, PutsACapsuleAfterEachOneThatGivesAPropertyItNeeds) {
  NodeDescription input = with_color(tracked(single("person")), {"red", "blue"});
  input.encoded = true;
  input.extra_data = {"age"};
  NodeDescription aged = single("person");
  aged.extra_data = {"age"};
  NodeDescription encoded = single("person");
  encoded.encoded = true;
  const Plan plan({capsule("last", input, all("visit")), capsule("ager", single("person"), aged),
                   capsule("encoder", single("person"), encoded), classifier(), tracker(),
                   detector()});
  EXPECT_THAT(order(plan),
              ElementsAre("detector", "ager", "encoder", "classifier", "tracker", "last"));
  EXPECT_THAT(plan.steps().back().fed_by, ElementsAre(1, 2, 3, 4, 5));
}

TEST(Plan, TakesAnInputWithoutNamesAsAnyNode) {
  const Plan plan(
      {capsule("watcher", {.size = Size::all}, {.size = Size::all, .extra_data = {"seen"}}),
       detector("people", "person"), detector("cars", "car")});
  EXPECT_THAT(order(plan), ElementsAre("people", "cars", "watcher"));
}

TEST(Plan, IsContentWithOneOfSeveralNames) {
  NodeDescription input = single("person");
  input.detections.push_back("rider");
  EXPECT_THAT(order(Plan({capsule("encoder", input, single("person")), detector()})),
              ElementsAre("detector", "encoder"));
}

TEST(Plan, RefusesAnInputWhoseNamesNobodyFinds) {
  EXPECT_THAT(
      ([&] {
        Plan({detector("faces", "face"), classifier()});
      }),
      ThrowsError<PlanError>(ErrorCode::unsatisfied_input,
                             AllOf(HasSubstr("capsule classifier needs nodes named person"),
                                   HasSubstr("faces provides face"), HasSubstr("add a capsule"))));
}

TEST(Plan, RefusesAnInputWithAPropertyThatNobodyGives) {
  EXPECT_THAT(([&] {
                Plan({detector(), capsule("guard", tracked(all("person")), all("alarm"))});
              }),
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input,
                                     AllOf(HasSubstr("capsule guard needs tracked on nodes named "
                                                     "person"),
                                           HasSubstr("detector provides person"))));
}

TEST(Plan, RefusesAnAttributeOfWhichNoValueMeets) {
  EXPECT_THAT(([&] {
                Plan({detector(), classifier(),
                      capsule("filter", with_color(single("person"), {"green"}), all("match"))});
              }),
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input,
                                     HasSubstr("capsule filter needs attribute color (green)")));
}

TEST(Plan, DoesNotLetACapsuleFeedItself) {
  EXPECT_THAT([&] { Plan({tracker()}); },
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input,
                                     AllOf(HasSubstr("capsule tracker needs nodes named person"),
                                           HasSubstr("the others provide nothing"))));
}

TEST(Plan, DoesNotTakeAPropertyFromNodesOfAnotherName) {
  EXPECT_THAT(([&] {
                Plan({detector(), detector("cars", "car"),
                      capsule("car_tracker", all("car"), tracked(all("car"))),
                      capsule("guard", tracked(all("person")), all("alarm"))});
              }),
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input, HasSubstr("capsule guard")));
}

TEST(Plan, NamesTheRingOfACycle) {
  NodeDescription with_age = all("person");
  with_age.extra_data = {"age"};
  NodeDescription with_size = all("person");
  with_size.extra_data = {"size"};
  EXPECT_THAT(
      ([&] {
        Plan({detector(), capsule("a", with_age, with_size), capsule("b", with_size, with_age)});
      }),
      ThrowsError<PlanError>(ErrorCode::plan_cycle,
                             AllOf(HasSubstr("a → b → a"), Not(HasSubstr("detector →")),
                                   HasSubstr("b needs extra_data size of a"))));
}

TEST(Plan, RefusesTwoCapsulesOfOneName) {
  EXPECT_THAT(
      ([&] {
        Plan({detector(), tracker(), detector()});
      }),
      ThrowsError<PlanError>(ErrorCode::duplicate_capsule,
                             HasSubstr("capsule detector is given twice, at places 1 and 3")));
}

TEST(Plan, SaysWhatEachStepNeedsAddsAndComesAfter) {
  const Plan plan({classifier(), detector()});
  EXPECT_EQ(plan.explain(),
            "1. detector\n"
            "   needs  the frame alone\n"
            "   adds   person\n"
            "   why    It needs nothing but the frame.\n"
            "2. classifier\n"
            "   needs  one node at a time: person\n"
            "   adds   attribute color\n"
            "   why    It comes after detector, which provides person.\n");
  EXPECT_THAT(Plan({}).steps(), IsEmpty());
}

TEST(Plan, WarnsOfValuesThatALaterInputDoesNotList) {
  const Plan plan({detector(), classifier(),
                   capsule("filter", with_color(single("person"), {"red"}), all("match"))});
  EXPECT_THAT(plan.explain(), HasSubstr("classifier gives attribute color blue fail here"));
}

TEST(Plan, IsWrittenAsJson) {
  const nlohmann::json json = Plan({classifier(), detector()});
  EXPECT_EQ(json.at("schema"), "vcap.plan/1");
  EXPECT_EQ(json.at("steps").at(1).at("capsule"), "classifier");
  EXPECT_EQ(json.at("steps").at(1).at("place"), 0);
  EXPECT_EQ(json.at("steps").at(1).at("fed_by"), nlohmann::json({"detector"}));
}

TEST(Plan, IsDrawnForGraphviz) {
  EXPECT_EQ(Plan({classifier(), detector()}).to_dot(),
            "digraph plan {\n"
            "  rankdir=LR;\n"
            "  node [shape=box];\n"
            "  frame [shape=ellipse];\n"
            "  capsule1 [label=\"1. detector\"];\n"
            "  frame -> capsule1;\n"
            "  capsule0 [label=\"2. classifier\"];\n"
            "  capsule1 -> capsule0 [label=\"person\"];\n"
            "}\n");
}

}  // namespace
}  // namespace vcap
