// SPDX-License-Identifier: Apache-2.0
#include "vcap/plan/plan.hpp"

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
using testing::SizeIs;

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

template <class Text>
auto conflict(std::size_t first, std::size_t second, Text text) {
  return AllOf(testing::Field(&Plan::Conflict::first, first),
               testing::Field(&Plan::Conflict::second, second),
               testing::Field(&Plan::Conflict::text, text));
}
template <class Reason>
auto left_out(std::size_t place, std::string name, Reason reason) {
  return AllOf(testing::Field(&Plan::LeftOut::capsule, place),
               testing::Field(&Plan::LeftOut::name, std::move(name)),
               testing::Field(&Plan::LeftOut::reason, reason));
}

TEST(Plan, PutsACapsuleAfterTheOneThatFindsItsNodes) {
  EXPECT_THAT(order(Plan({classifier(), detector()})), ElementsAre("detector", "classifier"));
}

TEST(Plan, KeepsTheGivenOrderIfPossible) {
  EXPECT_THAT(order(Plan({detector(), classifier(), tracker()})),
              ElementsAre("detector", "classifier", "tracker"));
  EXPECT_THAT(order(Plan({detector(), tracker(), classifier()})),
              ElementsAre("detector", "tracker", "classifier"));
}

TEST(Plan, DescribesWhatCapsulesSeeOverTime) {
  CapsuleInfo motion = detector("motion", "motion");
  motion.stencil = Stencil{.offsets = {2, 0, -1}, .edge = StencilEdge::error};
  CapsuleInfo background = detector("background", "change");
  background.stream_state = make_stream_state<BaseStreamState>();
  background.warmup = 299;
  background.keeps_state_at = {Discontinuity::gap, Discontinuity::seek};
  CapsuleInfo model = detector("model", "car");
  model.batch = BatchSizes{.preferred = 8, .maximum = 32};
  model.stencil = Stencil{.offsets = {1}};
  CapsuleInfo counter = detector("counter", "count");
  counter.stream_state = make_stream_state<BaseStreamState>();

  const Plan plan({motion, background, model, counter, detector()});
  EXPECT_THAT(plan.steps()[0].over_time,
              ElementsAre("frames 2, 0, -1 together, no call at an edge; records wait for 2 frames "
                          "more"));
  EXPECT_THAT(plan.steps()[1].over_time,
              ElementsAre("bounded state, warm-up of 299 frames; kept at gap, seek"));
  EXPECT_THAT(plan.steps()[2].over_time,
              ElementsAre("frames 1 together, the nearest one beyond an edge; records wait for 1 "
                          "frame more",
                          "up to 32 inputs at once, 8 preferred"));
  EXPECT_THAT(plan.steps()[3].over_time, ElementsAre("unbounded state"));
  EXPECT_THAT(plan.steps()[4].over_time, IsEmpty());
  EXPECT_EQ(plan.look_ahead(), 3);

  EXPECT_THAT(
      plan.explain(),
      AllOf(HasSubstr("2. background\n   needs  the frame alone\n   adds   change\n"
                      "   time   bounded state, warm-up of 299 frames; kept at gap, seek\n"),
            HasSubstr("\nEach record waits for the next 3 frames, which windows include.\n")));
  const nlohmann::json json = plan;
  EXPECT_EQ(json["look_ahead"], 3);
  EXPECT_EQ(json["steps"][3]["over_time"], nlohmann::json({"unbounded state"}));

  const Plan without({detector()});
  EXPECT_EQ(without.look_ahead(), 0);
  EXPECT_THAT(without.explain(), AllOf(Not(HasSubstr("time")), Not(HasSubstr("wait"))));
}

TEST(Plan, PutsACapsuleAfterAllThatGivePropertiesItNeeds) {
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

/// Takes nodes of any name with a track, and gives each of them a speed.
CapsuleInfo speedometer() {
  return capsule("speed", tracked({.size = Size::all}),
                 tracked({.size = Size::all, .extra_data = {"speed"}}));
}
CapsuleInfo reader_of_speed(std::string name, std::string nodes) {
  return capsule(std::move(name),
                 {.size = Size::all, .detections = {nodes}, .extra_data = {"speed"}},
                 {.size = Size::all, .detections = {nodes}, .extra_data = {"fine"}});
}

TEST(Plan, PropagatesNamesThroughAnOutputWithoutNames) {
  const Plan plan({reader_of_speed("fines", "person"), speedometer(), tracker(), detector()});
  EXPECT_THAT(order(plan), ElementsAre("detector", "tracker", "speed", "fines"));
  EXPECT_THAT(plan.steps()[2].reasons, testing::Contains("Its nodes keep their names: person."));
  EXPECT_THAT(plan.conflicts(), IsEmpty());
}

TEST(Plan, PropagatesNamesThroughSeveralOutputsWithoutNames) {
  const CapsuleInfo watcher =
      capsule("watcher", {.size = Size::all, .extra_data = {"speed"}},
              {.size = Size::all, .attributes = {{"haste", {"yes", "no"}}}});
  const CapsuleInfo last = capsule(
      "last", {.size = Size::all, .detections = {"person"}, .attributes = {{"haste", {"yes"}}}},
      {.size = Size::all, .detections = {"person"}, .extra_data = {"alarm"}});
  EXPECT_THAT(order(Plan({last, watcher, speedometer(), tracker(), detector()})),
              ElementsAre("detector", "tracker", "speed", "watcher", "last"));
}

TEST(Plan, DoesNotPropagateNamesOfNodesThatLackWhatTheCapsuleNeeds) {
  EXPECT_THAT(
      [] {
        Plan({reader_of_speed("fines", "car"), speedometer(), tracker(), detector(),
              detector("cars", "car")});
      },
      ThrowsError<PlanError>(ErrorCode::unsatisfied_input,
                             HasSubstr("capsule fines needs extra_data speed on nodes named car")))
      << "only persons are tracked";
}

TEST(Plan, ReportsResultsThatReplaceOthersOnNodesThatKeepTheirNames) {
  CapsuleInfo other = speedometer();
  other.name = "speed_too";
  EXPECT_THAT(Plan({detector(), tracker(), speedometer(), other}).conflicts(),
              ElementsAre(conflict(2, 3,
                                   HasSubstr("speed and speed_too both give extra_data speed to "
                                             "nodes named person"))));
}

TEST(Plan, AcceptsOneOfSeveralNames) {
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

TEST(Plan, RefusesAnAttributeWithoutACommonValue) {
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
                                           HasSubstr("no other capsule is given"))));
  EXPECT_THAT(([&] {
                Plan({tracker(), capsule("idle", no_nodes(), no_nodes())});
              }),
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input,
                                     HasSubstr("the others provide nothing")));
}

TEST(Plan, DoesNotTakeAPropertyFromNodesOfAnotherName) {
  EXPECT_THAT(([&] {
                Plan({detector(), detector("cars", "car"),
                      capsule("car_tracker", all("car"), tracked(all("car"))),
                      capsule("guard", tracked(all("person")), all("alarm"))});
              }),
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input, HasSubstr("capsule guard")));
}

TEST(Plan, NamesTheCapsulesOfACycle) {
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

TEST(Plan, HasNoConflictsIfCapsulesOnlyFeedEachOther) {
  NodeDescription dressed = with_color(single("person"), {"dark red", "dark blue"});
  const CapsuleInfo refiner =
      capsule("refiner", with_color(single("person"), {"red", "blue"}), std::move(dressed));
  EXPECT_THAT(
      Plan({detector(), detector("cars", "car"), tracker(), classifier(), refiner}).conflicts(),
      IsEmpty());
}

TEST(Plan, ReportsValuesThatALaterInputDoesNotList) {
  const Plan plan({capsule("filter", with_color(single("person"), {"red"}), all("match")),
                   detector(), classifier()});
  EXPECT_THAT(plan.conflicts(),
              ElementsAre(conflict(2, 0,
                                   "Nodes to which classifier gives attribute color blue fail at "
                                   "filter: its input does not list this value.")));
}

TEST(Plan, ReportsResultsThatReplaceOthers) {
  const auto giving = [](std::string name, auto give) {
    NodeDescription output = single("person");
    give(output);
    return capsule(std::move(name), single("person"), std::move(output));
  };
  const auto all_things = [](NodeDescription& output) {
    output = with_color(output, {"green"});
    output.encoded = output.tracked = true;
    output.extra_data = {"age", "height"};
  };
  const auto age = [](NodeDescription& output) { output.extra_data = {"age"}; };
  const auto encoding = [](NodeDescription& output) { output.encoded = true; };
  const Plan plan({detector(), classifier(), tracker(), giving("ager", age),
                   giving("encoder", encoding), giving("painter", all_things)});
  const std::string both = " and painter both ";
  const std::string replaced = " nodes named person: what painter gives replaces what ";
  EXPECT_THAT(
      plan.conflicts(),
      ElementsAre(
          conflict(1, 5,
                   "classifier" + both + "give attribute color to" + replaced + "classifier gave."),
          conflict(2, 5, "tracker" + both + "track" + replaced + "tracker gave."),
          conflict(3, 5, "ager" + both + "give extra_data age to" + replaced + "ager gave."),
          conflict(4, 5, "encoder" + both + "encode" + replaced + "encoder gave.")));
}

TEST(Plan, SeesNoConflictOnNodesOfDifferentNames) {
  const CapsuleInfo cars = capsule("cars", single("car"), with_color(single("car"), {"red"}));
  EXPECT_THAT(Plan({detector(), detector("car_detector", "car"), classifier(), cars}).conflicts(),
              IsEmpty());
}

TEST(Plan, ReportsNodesThatAreFoundTwice) {
  const Plan plan({detector(), detector("crowd"), detector("cars", "car")});
  EXPECT_THAT(plan.conflicts(),
              ElementsAre(conflict(0, 1,
                                   "detector and crowd both find nodes named person: what both "
                                   "find occurs twice.")));
}

TEST(Plan, SeesNoConflictInWhatDetectorsGiveToNodesOfTheirOwn) {
  const CapsuleInfo painted = capsule("painted", no_nodes(), with_color(all("person"), {"red"}));
  const CapsuleInfo colorful = capsule("colorful", no_nodes(), with_color(all("person"), {"red"}));
  const Plan plan({painted, colorful, classifier()});
  EXPECT_THAT(plan.conflicts(),
              ElementsAre(conflict(0, 1, HasSubstr("both find")),
                          conflict(0, 2, HasSubstr("both give attribute color")),
                          conflict(1, 2, HasSubstr("both give attribute color"))));
}

class UnfitCapsules : public testing::Test {
 protected:
  /// With UnfitPolicy::refuse, the plan is refused with the reason of the first unfit capsule.
  static void expect_refused(const std::vector<CapsuleInfo>& capsules, const Plan& plan) {
    try {
      Plan refused(capsules);
      ADD_FAILURE() << "nothing is refused";
    } catch (const PlanError& error) {
      EXPECT_EQ(plan.left_out().at(0).reason, error.what());
    }
  }
};

TEST_F(UnfitCapsules, AreEmptyIfAllCapsulesFit) {
  const Plan plan({classifier(), detector()}, UnfitPolicy::leave_out);
  EXPECT_THAT(plan.left_out(), IsEmpty());
  EXPECT_THAT(order(plan), ElementsAre("detector", "classifier"));
}

TEST_F(UnfitCapsules, AreLeftOutWithThoseThatNeedThem) {
  const std::vector<CapsuleInfo> capsules{
      capsule("reporter", all("text"), all("report")), detector(),
      capsule("reader", tracked(all("plate")), all("text")), classifier()};
  const Plan plan(capsules, UnfitPolicy::leave_out);

  EXPECT_THAT(order(plan), ElementsAre("detector", "classifier"));
  EXPECT_THAT(
      plan.left_out(),
      ElementsAre(left_out(2, "reader", HasSubstr("capsule reader needs nodes named plate")),
                  left_out(0, "reporter",
                           AllOf(HasSubstr("capsule reporter needs nodes named text"),
                                 HasSubstr("reader, which would provide it, is left out"),
                                 HasSubstr("add a capsule that provides it")))));
  expect_refused(capsules, plan);
}

TEST_F(UnfitCapsules, IncludeTheLastGivenCapsuleOfACycle) {
  NodeDescription aged = all("person");
  aged.extra_data = {"age"};
  NodeDescription sized = all("person");
  sized.extra_data = {"size"};
  // "waiting" needs the cycle, but is not part of it.
  const std::vector<CapsuleInfo> capsules{capsule("b", sized, aged), capsule("a", aged, sized),
                                          detector(), capsule("waiting", aged, all("visit"))};
  const Plan plan(capsules, UnfitPolicy::leave_out);

  EXPECT_THAT(order(plan), ElementsAre("detector"));
  EXPECT_THAT(
      plan.left_out(),
      ElementsAre(left_out(1, "a", HasSubstr("in a cycle")),
                  left_out(0, "b", HasSubstr("a, which would provide it, is left out")),
                  left_out(3, "waiting", HasSubstr("b, which would provide it, is left out"))));
  expect_refused(capsules, plan);
}

TEST_F(UnfitCapsules, IncludeCapsulesWhoseNameIsTaken) {
  const std::vector<CapsuleInfo> capsules{detector(), detector("detector", "car"), classifier(),
                                          detector()};
  const Plan plan(capsules, UnfitPolicy::leave_out);

  EXPECT_THAT(order(plan), ElementsAre("detector", "classifier"));
  EXPECT_THAT(plan.left_out(),
              ElementsAre(left_out(1, "detector", HasSubstr("at places 1 and 2")),
                          left_out(3, "detector", HasSubstr("at places 1 and 4"))));
  expect_refused(capsules, plan);
}

TEST_F(UnfitCapsules, KeepThePlacesOfTheOthers) {
  const Plan plan(
      {capsule("reader", all("plate"), all("text")), classifier(), tracker(), detector(),
       capsule("painter", single("person"), with_color(single("person"), {"red"}))},
      UnfitPolicy::leave_out);
  EXPECT_THAT(order(plan), ElementsAre("detector", "classifier", "tracker", "painter"));
  EXPECT_EQ(plan.steps()[0].capsule, 3);
  EXPECT_THAT(plan.steps()[1].fed_by, ElementsAre(3));
  EXPECT_THAT(plan.conflicts(), ElementsAre(conflict(1, 4, HasSubstr("painter"))));
}

TEST_F(UnfitCapsules, MayBeAllCapsules) {
  const Plan plan({classifier(), tracker()}, UnfitPolicy::leave_out);
  EXPECT_THAT(plan.steps(), IsEmpty());
  EXPECT_THAT(plan.left_out(), SizeIs(2));
  EXPECT_THAT(plan.explain(), AllOf(HasSubstr("No capsules: frames pass unchanged.\n"),
                                    HasSubstr("-  classifier, left out\n")));
}

/// One conflict, and one capsule that is left out.
Plan plan_with_troubles() {
  return Plan({detector(), detector("crowd"), capsule("reader", all("plate"), all("text"))},
              UnfitPolicy::leave_out);
}

TEST(Plan, ExplainsConflictsAndWhatIsLeftOut) {
  EXPECT_EQ(plan_with_troubles().explain(),
            "1. detector\n"
            "   needs  the frame alone\n"
            "   adds   person\n"
            "   why    It needs nothing but the frame.\n"
            "2. crowd\n"
            "   needs  the frame alone\n"
            "   adds   person\n"
            "   why    It needs nothing but the frame.\n"
            "   but    detector and crowd both find nodes named person: what both find occurs "
            "twice.\n"
            "-  reader, left out\n"
            "   why    capsule reader needs nodes named plate, which no other capsule provides "
            "(detector provides person; crowd provides person); add a capsule that provides it\n");
}

TEST(Plan, DrawsConflictsAndWhatIsLeftOut) {
  EXPECT_THAT(
      plan_with_troubles().to_dot(),
      AllOf(HasSubstr("  capsule0 -> capsule1 [style=dashed, color=red, fontcolor=red, label=\""
                      "detector and crowd both find nodes named\\nperson: what both find occurs "
                      "twice.\"];\n"),
            HasSubstr("  capsule2 [style=dashed, label=\"reader\\nleft out: capsule reader needs "
                      "nodes named\\nplate, ")));
}

TEST(Plan, WritesConflictsAndWhatIsLeftOutAsJson) {
  const nlohmann::json json = plan_with_troubles();
  EXPECT_EQ(json.at("conflicts").at(0).at("first"), "detector");
  EXPECT_EQ(json.at("conflicts").at(0).at("second"), "crowd");
  EXPECT_THAT(json.at("conflicts").at(0).at("text").get<std::string>(), HasSubstr("twice"));
  EXPECT_EQ(json.at("left_out").at(0).at("capsule"), "reader");
  EXPECT_EQ(json.at("left_out").at(0).at("place"), 2);
  EXPECT_THAT(json.at("left_out").at(0).at("reason").get<std::string>(), HasSubstr("plate"));

  const nlohmann::json without_troubles = Plan({detector()});
  EXPECT_EQ(without_troubles.at("conflicts"), nlohmann::json::array());
  EXPECT_EQ(without_troubles.at("left_out"), nlohmann::json::array());
}

TEST(Plan, IsWrittenAsJson) {
  const nlohmann::json json = Plan({classifier(), detector()});
  EXPECT_EQ(json.at("schema"), "vcap.plan/1");
  EXPECT_EQ(json.at("steps").at(1).at("capsule"), "classifier");
  EXPECT_EQ(json.at("steps").at(1).at("place"), 0);
  EXPECT_EQ(json.at("steps").at(1).at("fed_by"), nlohmann::json({"detector"}));
  EXPECT_EQ(json.at("steps").at(1).at("supplies"), nlohmann::json({"person"}));
  EXPECT_FALSE(json.at("steps").at(1).at("adds").empty());
}

TEST(Plan, IsDrawnForGraphviz) {
  EXPECT_EQ(Plan({classifier(), detector()}).to_dot(),
            "digraph plan {\n"
            "  rankdir=LR;\n"
            "  node [shape=box];\n"
            "  frame [shape=ellipse];\n"
            "  capsule1 [label=\"1. detector\\nadds person\"];\n"
            "  frame -> capsule1;\n"
            "  capsule0 [label=\"2. classifier\\nadds attribute color\"];\n"
            "  capsule1 -> capsule0 [label=\"person\"];\n"
            "}\n");
}

CapsuleInfo giving(CapsuleInfo info, PictureDescription picture) {
  info.gives_pictures.push_back(std::move(picture));
  return info;
}
CapsuleInfo taking(CapsuleInfo info, PictureDescription picture) {
  info.takes_pictures.push_back(std::move(picture));
  return info;
}
PictureDescription mask(int type = CV_8UC1) { return {.name = "mask", .type = type}; }
CapsuleInfo masker() { return giving(capsule("masker", no_nodes(), no_nodes()), mask()); }

TEST(PlanOfPictures, PutsACapsuleAfterTheOneThatGivesItsPicture) {
  const Plan plan({taking(detector(), mask()), masker()});
  EXPECT_THAT(order(plan), ElementsAre("masker", "detector"));
  EXPECT_THAT(plan.explain(),
              AllOf(HasSubstr("adds   picture mask (8UC1, as large as the frame)"),
                    HasSubstr("needs  the frame alone; picture mask (8UC1, as large as the frame)"),
                    HasSubstr("It comes after masker, which provides picture mask.")));
  EXPECT_THAT(plan.to_dot(), HasSubstr("capsule1 -> capsule0 [label=\"picture mask\"]"));
  const nlohmann::json json = plan;
  EXPECT_EQ(json["steps"][0]["gives_pictures"][0]["name"], "mask");
  EXPECT_EQ(json["steps"][1]["takes_pictures"][0]["type"], "8UC1");
  EXPECT_EQ(json["steps"][1]["fed_by"], nlohmann::json::array({"masker"}));
}

TEST(PlanOfPictures, SayNothingAboutNamesIfTheCapsuleGivesOnlyPictures) {
  CapsuleInfo blur = masker();
  blur.input_type = {.size = Size::all, .detections = {"person"}};
  const Plan plan({detector(), blur});
  EXPECT_THAT(plan.steps()[1].reasons,
              ElementsAre("It comes after detector, which provides person."));
}

TEST(PlanOfPictures, RefusesAPictureOfAnotherTypeOrSizeAndNamesBoth) {
  EXPECT_THAT(
      [] {
        Plan({masker(), taking(detector(), mask(CV_32FC1))});
      },
      ThrowsError<PlanError>(ErrorCode::type_mismatch,
                             AllOf(HasSubstr("capsule detector takes picture mask (32FC1"),
                                   HasSubstr("capsule masker gives picture mask (8UC1"))));
  PictureDescription any = mask();
  any.size = PictureSize::any;
  EXPECT_NO_THROW(Plan({masker(), taking(detector(), any)}));
  EXPECT_THAT(
      [&] {
        Plan({giving(capsule("loose", no_nodes(), no_nodes()), any), taking(detector(), mask())});
      },
      ThrowsError<PlanError>(ErrorCode::type_mismatch, HasSubstr("of any size")));
}

TEST(PlanOfPictures, RefusesAPictureThatNobodyGives) {
  EXPECT_THAT([] { Plan({taking(detector(), mask())}); },
              ThrowsError<PlanError>(
                  ErrorCode::unsatisfied_input,
                  AllOf(HasSubstr("capsule detector takes picture mask"),
                        HasSubstr("no other capsule gives pictures"), HasSubstr("add a capsule"))));
  const Plan plan({taking(detector(), mask()), giving(tracker(), mask())}, UnfitPolicy::leave_out);
  EXPECT_THAT(order(plan), IsEmpty()) << "each needs the other";
}

TEST(PlanOfPictures, RefusesTwoCapsulesThatGiveTheSamePicture) {
  CapsuleInfo second = masker();
  second.name = "second";
  EXPECT_THAT(
      [&] {
        Plan({masker(), second});
      },
      ThrowsError<PlanError>(ErrorCode::duplicate_picture,
                             HasSubstr("capsules masker and second both give picture mask")));
  const Plan plan({masker(), second}, UnfitPolicy::leave_out);
  EXPECT_THAT(order(plan), ElementsAre("masker"));
  EXPECT_THAT(plan.left_out(), SizeIs(1));
}

TEST(PlanOfPictures, RefusesCyclesThroughPicturesAndNodes) {
  EXPECT_THAT(
      [] {
        Plan({taking(detector(), mask()), giving(tracker(), mask())});
      },
      ThrowsError<PlanError>(ErrorCode::plan_cycle,
                             AllOf(HasSubstr("detector needs picture mask of tracker"),
                                   HasSubstr("tracker needs person of detector"))));
}

}  // namespace
}  // namespace vcap
