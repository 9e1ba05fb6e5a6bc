// SPDX-License-Identifier: Apache-2.0
// Events of tracks in zones: entering, leaving, staying, counts, attributes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "algorithms/event_scenes.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

EventRules zone_rules(EventZone zone = test_zone()) {
  return {.zones = {std::move(zone)},
          .rules = {{.name = "comes", .what = EnterRule{.zone = "yard"}},
                    {.name = "goes", .what = LeaveRule{"yard"}}}};
}

EventRules rule_for(decltype(EventRule::what) what) {
  return {.zones = {test_zone()}, .rules = {{.name = "rule", .what = std::move(what)}}};
}

struct Visits {
  const char* name;
  Coords polygon;
  std::vector<cv::Point2d> places;
  std::vector<std::string> expected;
};

std::ostream& operator<<(std::ostream& out, const Visits& visits) { return out << visits.name; }

class ZoneVisits : public testing::TestWithParam<Visits> {};

TEST_P(ZoneVisits, AreSeenExactly) {
  EventZone zone = test_zone();
  zone.polygon = GetParam().polygon;
  EventScene scene(zone_rules(zone));
  scene.walk(GetParam().places);
  EXPECT_EQ(scene.texts(), GetParam().expected);
  expect_one_begin_and_end(scene.changes);
}

const Coords kSquare{{100, 100}, {200, 100}, {200, 200}, {100, 200}};
/// A square without its upper right quarter.
const Coords kNook{{100, 100}, {150, 100}, {150, 150}, {200, 150}, {200, 200}, {100, 200}};
/// Like a U, whose notch is from x = 140 to 160.
const Coords kNotch{{100, 100}, {140, 100}, {140, 180}, {160, 180},
                    {160, 100}, {200, 100}, {200, 200}, {100, 200}};
/// Two triangles that meet in (150, 150).
const Coords kBow{{100, 100}, {200, 200}, {200, 100}, {100, 200}};

INSTANTIATE_TEST_SUITE_P(
    Golden, ZoneVisits,
    testing::Values(
        Visits{"in and out",
               kSquare,
               {{50, 150}, {120, 150}, {150, 150}, {250, 150}},
               {"+enter@1", "-enter@3 left", "leave@3"}},
        Visits{"trembling on the border",
               kSquare,
               {{90, 150}, {101, 150}, {98, 150}, {102, 150}, {95.5, 150}, {103, 150}, {94, 150}},
               {"+enter@1", "-enter@6 left", "leave@6"}},
        Visits{"exactly on the border", kSquare, {{90, 150}, {100, 150}}, {"+enter@1"}},
        Visits{"exactly on a corner", kSquare, {{90, 90}, {100, 100}}, {"+enter@1"}},
        Visits{"just outside the border", kSquare, {{90, 150}, {99.999, 150}}, {}},
        Visits{"level with a corner, outside", kSquare, {{50, 50}, {50, 100}, {50, 200}}, {}},
        Visits{"through it between two frames", kSquare, {{50, 150}, {250, 150}}, {}},
        Visits{"from inside", kSquare, {{150, 150}, {250, 150}}, {"leave@1"}},
        Visits{"in the nook of a concave zone, which is outside",
               kNook,
               {{250, 120}, {180, 120}, {160, 140}},
               {}},
        Visits{"from the nook into the zone", kNook, {{180, 120}, {140, 120}}, {"+enter@1"}},
        Visits{"into the notch of a concave zone",
               kNotch,
               {{120, 150}, {150, 150}, {180, 150}},
               {"leave@1", "+enter@2"}},
        Visits{"between the triangles of a zone whose sides cross",
               kBow,
               {{150, 50}, {150, 120}, {120, 150}, {150, 120}, {180, 150}},
               {"+enter@2", "-enter@3 left", "leave@3", "+enter@4"}},
        Visits{"from far away, and far away again",
               kSquare,
               {{-5000, 150}, {150, 150}, {5000, 9000}},
               {"+enter@1", "-enter@2 left", "leave@2"}}),
    [](const auto& one) { return "Case" + std::to_string(one.index); });

TEST(Zones, MayOverlap) {
  EventZone right = test_zone("right");
  for (cv::Point2d& point : right.polygon) point.x += 50;
  EventRules rules = zone_rules();
  rules.zones.push_back(right);
  rules.rules.push_back({.name = "comes right", .what = EnterRule{.zone = "right"}});
  EventScene scene(rules);
  scene.walk({{50, 150}, {120, 150}, {170, 150}, {230, 150}, {300, 150}});
  EXPECT_THAT(scene.texts(),
              ElementsAre("+enter@1", "+enter@2", "-enter@3 left", "leave@3", "-enter@4 left"));
  EXPECT_EQ(scene.changes[1].event.zone, "right");
}

TEST(Zones, ThatAreEqualGiveTheSameEvents) {
  EventRules rules = zone_rules();
  rules.rules.pop_back();
  rules.zones.push_back(test_zone("copy"));
  rules.rules.push_back({.name = "again", .what = EnterRule{.zone = "copy"}});
  EventScene scene(rules);
  scene.walk({{50, 150}, {150, 150}, {250, 150}});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "+enter@1", "-enter@2 left", "-enter@2 left"));
}

TEST(Zones, InRelativeCoordinatesFollowTheResolution) {
  EventRules rules = zone_rules();
  rules.unit = EventRules::Unit::relative;
  rules.zones[0].polygon = {{0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}};
  EventScene scene(rules, {640, 480});
  scene.walk({{300, 200}, {340, 200}});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1"));
  EventScene small(rules, {320, 240});
  small.walk({{100, 100}, {140, 100}, {170, 100}});
  EXPECT_THAT(small.texts(), ElementsAre("+enter@2"));
}

TEST(Zones, KeepTheirVisitsIfTheResolutionChanges) {
  EventRules rules = zone_rules();
  rules.unit = EventRules::Unit::relative;
  rules.zones[0].polygon = {{0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}};
  EventScene scene(rules, {640, 480});
  scene.walk({{300, 200}, {400, 200}}).resize({320, 240}).walk({{200, 100}, {100, 100}});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@3 left", "leave@3"));
}

TEST(Zones, ReachOutOfThePicture) {
  EventZone zone = test_zone();
  zone.polygon = {{-500, 100}, {50, 100}, {50, 9000}, {-500, 9000}};
  EventScene scene(zone_rules(zone));
  scene.walk({{100, 200}, {-100, 600}, {100, 700}});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@2 left", "leave@2"));
}

TEST(Entering, NeedsToBeSeenUnlessTheRuleSaysOtherwise) {
  EventScene plain(rule_for(EnterRule{.zone = "yard"}));
  plain.empty(20).walk({{150, 150}});
  EXPECT_THAT(plain.texts(), IsEmpty());
  EventScene appearing(rule_for(EnterRule{.zone = "yard", .appearing = true}));
  appearing.empty(20).walk({{150, 150}});
  EXPECT_THAT(appearing.texts(), ElementsAre("+enter@20"));
}

TEST(Entering, ByAppearingIsNoneSoonAfterADiscontinuity) {
  EventScene scene(rule_for(EnterRule{.zone = "yard", .appearing = true}));
  scene.walk({{150, 150}});  // at the start
  EXPECT_THAT(scene.texts(), IsEmpty());
  scene.empty(30).frame({node_at({120, 150}, 2)}, Discontinuity::reconnect);
  EXPECT_THAT(scene.texts(), IsEmpty());
}

TEST(Entering, EndsWhenTheTrackIsLostAndTellsWhereItWasLast) {
  EventScene scene(rule_for(EnterRule{.zone = "yard"}));
  scene.walk({{50, 150}, {150, 150}, {160, 150}}).empty(10);
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1"));
  scene.empty(1);
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@2 track_lost"));
  EXPECT_EQ(scene.detector.track_count(), 0u);
}

TEST(Entering, GoesOnOverMissedFramesWithinTheGrace) {
  EventScene scene(rule_for(EnterRule{.zone = "yard"}));
  scene.walk({{50, 150}, {150, 150}}).empty(9).walk({{160, 150}, {250, 150}});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@12 left"));
}

TEST(Entering, WaitsForANodeThatFitsTheFilter) {
  EventRules rules = rule_for(EnterRule{.zone = "yard"});
  rules.rules[0].attributes = {{"colour", {"red", "blue"}}};
  rules.rules[0].objects = {"person"};
  rules.rules[0].min_confidence = 0.5;
  EventScene scene(rules);
  DetectionNode red = node_at({150, 150}, 1);
  red.attributes = {{"colour", "red"}};
  DetectionNode unsure = red;
  unsure.extra_data["confidence"] = 0.4;
  DetectionNode green = red;
  green.attributes = {{"colour", "green"}};
  DetectionNode dog = red;
  dog.name = "dog";
  scene.walk({{50, 150}, {150, 150}}).frame({unsure}).frame({green}).frame({dog});
  EXPECT_THAT(scene.texts(), IsEmpty());
  scene.frame({red}).frame({green}).walk({{250, 150}});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@5", "-enter@7 left"));
}

TEST(Staying, BeginsAfterItsTimeAndTellsSinceWhen) {
  EventScene scene(rule_for(StayRule{"yard", {{"*", seconds(1)}}}));
  scene.walk(std::vector<cv::Point2d>(12, {150, 150})).walk({{250, 150}});
  EXPECT_THAT(scene.texts(), ElementsAre("+stay@10", "-stay@12 left"));
  EXPECT_EQ(scene.changes[0].event.since, (EventMoment{0, milliseconds(0)}));
}

TEST(Staying, HasATimeForEachClass) {
  EventScene scene(
      rule_for(StayRule{"yard", {{"person", milliseconds(300)}, {"car", milliseconds(700)}}}));
  for (int i = 0; i < 10; ++i)
    scene.frame(
        {node_at({120, 150}, 1), node_at({150, 150}, 2, "car"), node_at({180, 150}, 3, "dog")});
  EXPECT_THAT(scene.texts(), ElementsAre("+stay@3", "+stay@7"));
  EXPECT_EQ(scene.changes[0].event.object, "person");
  EXPECT_EQ(scene.changes[1].event.object, "car");
}

TEST(Staying, HasATimeForOtherClasses) {
  EventScene scene(
      rule_for(StayRule{"yard", {{"person", milliseconds(300)}, {"*", milliseconds(500)}}}));
  for (int i = 0; i < 10; ++i) scene.frame({node_at({120, 150}, 1), node_at({180, 150}, 3, "dog")});
  EXPECT_THAT(scene.texts(), ElementsAre("+stay@3", "+stay@5"));
}

TEST(Staying, BeginsAnewAfterLeaving) {
  EventScene scene(rule_for(StayRule{"yard", {{"*", milliseconds(300)}}}));
  scene.walk({{150, 150}, {150, 150}, {150, 150}, {250, 150}, {150, 150}, {150, 150}});
  EXPECT_THAT(scene.texts(), IsEmpty());
  scene.walk({{150, 150}, {150, 150}});
  EXPECT_THAT(scene.texts(), ElementsAre("+stay@7"));
}

TEST(Staying, MayBeInTheWholePicture) {
  EventScene scene(rule_for(StayRule{"", {{"*", milliseconds(300)}}}));
  scene.walk({{10, 10}, {300, 300}, {600, 20}, {5, 400}}).empty(11);
  EXPECT_THAT(scene.texts(), ElementsAre("+stay@3", "-stay@3 track_lost"));
}

std::vector<DetectionNode> crowd(int people, std::uint8_t first = 1) {
  std::vector<DetectionNode> nodes;
  for (int i = 0; i < people; ++i)
    nodes.push_back(node_at({102.0 + 24 * i, 150}, static_cast<std::uint8_t>(first + i)));
  return nodes;
}

TEST(Counting, BeginsAndEndsAtItsBound) {
  EventScene scene(rule_for(CountRule{.zone = "yard", .at_least = 3}));
  scene.empty(15).frame(crowd(2)).frame(crowd(3)).frame(crowd(4));
  scene.walk({{102, 150}}).empty(0);
  EXPECT_THAT(scene.texts(), ElementsAre("+count@16"));
  EXPECT_EQ(scene.changes[0].event.count, 3);
  for (int i = 0; i < 11; ++i) scene.frame(crowd(2));  // the others are forgotten after the grace
  EXPECT_THAT(scene.texts(), ElementsAre("+count@16", "-count@28 over"));
}

TEST(Counting, HasSlackAndHold) {
  EventRules rules =
      rule_for(CountRule{.zone = "yard", .at_least = 3, .slack = 1, .hold = milliseconds(200)});
  rules.grace = milliseconds(0);
  EventScene scene(rules);
  scene.frame(crowd(3)).frame(crowd(3)).frame(crowd(2)).frame(crowd(3)).frame(crowd(3));
  EXPECT_THAT(scene.texts(), IsEmpty()) << "it has not held";
  scene.frame(crowd(3));
  EXPECT_THAT(scene.texts(), ElementsAre("+count@5"));
  EXPECT_EQ(scene.changes[0].event.since->frame_index, 3);
  scene.frame(crowd(2)).frame(crowd(2)).frame(crowd(2)).frame(crowd(2));
  EXPECT_THAT(scene.texts(), SizeIs(1)) << "within the slack";
  scene.frame(crowd(1)).frame(crowd(2)).frame(crowd(1)).frame(crowd(1)).frame(crowd(1));
  EXPECT_THAT(scene.texts(), ElementsAre("+count@5", "-count@14 over"));
}

TEST(Counting, MayHaveAnUpperBound) {
  EventRules rules = rule_for(CountRule{.zone = "yard", .at_most = 1});
  rules.grace = milliseconds(0);
  EventScene scene(rules);
  scene.frame(crowd(2)).frame(crowd(1)).frame(crowd(0)).frame(crowd(3));
  EXPECT_THAT(scene.texts(), ElementsAre("+count@1", "-count@3 over"));
}

TEST(Counting, IsInTheWholePictureWithoutAZone) {
  EventScene scene(rule_for(CountRule{.at_least = 2}));
  scene.empty(11).frame({node_at({10, 50}, 1), node_at({600, 400}, 2)});
  EXPECT_THAT(scene.texts(), ElementsAre("+count@11"));
}

TEST(Counting, HoldsTheFilterAgainstEachNode) {
  EventRules rules = rule_for(CountRule{.zone = "yard", .at_least = 2});
  rules.rules[0].objects = {"car"};
  EventScene scene(rules);
  scene.empty(11).frame({node_at({120, 150}, 1), node_at({150, 150}, 2, "car")});
  EXPECT_THAT(scene.texts(), IsEmpty());
  scene.frame({node_at({120, 150}, 1, "car"), node_at({150, 150}, 2, "car")});
  EXPECT_THAT(scene.texts(), ElementsAre("+count@12"));
}

TEST(Counting, IncludesUntrackedNodesIfTheRuleSaysSo) {
  DetectionNode untracked = node_at({150, 150}, 1);
  untracked.track_id.reset();
  DetectionNode parent = node_at({10, 10}, 9, "group");
  parent.children = {untracked, untracked};
  EventScene plain(rule_for(CountRule{.zone = "yard", .at_least = 2}));
  EXPECT_THAT(plain.empty(11).frame({parent}).texts(), IsEmpty());
  EventScene all(rule_for(CountRule{.zone = "yard", .at_least = 2, .untracked = true}));
  EXPECT_THAT(all.empty(11).frame({parent}).empty(1).texts(),
              ElementsAre("+count@11", "-count@12 over"));
}

TEST(Attributes, RaiseAnEventWhenTheyChange) {
  EventRules rules = rule_for(AttributeRule{.category = "colour"});
  EventScene scene(rules);
  DetectionNode node = node_at({150, 150}, 1);
  scene.frame({node});
  for (const char* const colour : {"red", "red", "blue", "blue", "red"}) {
    node.attributes["colour"] = colour;
    scene.frame({node}).walk({{150, 150}});  // a frame without the attribute changes nothing
  }
  EXPECT_THAT(scene.texts(), ElementsAre("attribute@5", "attribute@9"));
  EXPECT_EQ(scene.changes[0].event.from, "red");
  EXPECT_EQ(scene.changes[0].event.to, "blue");
  EXPECT_EQ(scene.changes[0].event.category, "colour");
}

TEST(Attributes, CountOnlyIfTheNewValueHolds) {
  EventScene scene(rule_for(AttributeRule{.category = "colour", .hold = milliseconds(200)}));
  DetectionNode node = node_at({150, 150}, 1);
  for (const char* const colour : {"red", "blue", "blue", "red", "blue", "grey", "grey", "grey"}) {
    node.attributes["colour"] = colour;
    scene.frame({node});
  }
  EXPECT_THAT(scene.texts(), ElementsAre("attribute@7"));
  EXPECT_EQ(scene.changes[0].event.from, "red");
  EXPECT_EQ(scene.changes[0].event.to, "grey");
}

TEST(Attributes, MayBeWatchedForValuesAndInAZoneOnly) {
  EventScene scene(
      rule_for(AttributeRule{.zone = "yard", .category = "bag", .from = {"yes"}, .to = {"no"}}));
  const auto at = [](cv::Point2d place, const char* bag) {
    DetectionNode node = node_at(place, 1);
    node.attributes["bag"] = bag;
    return node;
  };
  scene.frame({at({50, 150}, "yes")}).frame({at({50, 150}, "no")});        // outside
  scene.frame({at({150, 150}, "yes")}).frame({at({150, 150}, "unsure")});  // other values
  scene.frame({at({150, 150}, "yes")}).frame({at({150, 150}, "no")});
  EXPECT_THAT(scene.texts(), ElementsAre("attribute@5"));
}

}  // namespace
}  // namespace vcap::test
