// SPDX-License-Identifier: Apache-2.0
// Reconnects, gaps, seeks and changes of exposure raise no event, and what is open ends once.
#include <gmock/gmock.h>

#include <cmath>

#include "algorithms/event_scenes.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Every kind of rule, in one zone and at one line.
EventRules every_rule() {
  return {.zones = {test_zone()},
          .lines = {test_line()},
          .rules = {{.name = "enter", .what = EnterRule{.zone = "yard"}},
                    {.name = "leave", .what = LeaveRule{"yard"}},
                    {.name = "stay", .what = StayRule{"yard", {{"*", milliseconds(500)}}}},
                    {.name = "cross", .what = CrossRule{.line = "gate"}},
                    {.name = "count", .what = CountRule{.zone = "yard", .at_least = 2}},
                    {.name = "colour", .what = AttributeRule{.category = "colour"}}}};
}

const std::vector<cv::Point2d> kInside(15, {150, 150});

/// Two persons in the zone, on the right of the line; `first` is the number of the first track.
std::vector<DetectionNode> two(std::uint8_t first, double shift = 0, const char* colour = "red") {
  std::vector<DetectionNode> nodes{
      node_at({130 + shift, 150}, first),
      node_at({180 + shift, 150}, static_cast<std::uint8_t>(first + 1))};
  for (DetectionNode& node : nodes) node.attributes["colour"] = colour;
  return nodes;
}

/// Two persons who have entered and stay.
void let_two_stay(EventScene& scene) {
  scene.frame(two(1, 200));
  for (int i = 0; i < 15; ++i) scene.frame(two(1));
  EXPECT_THAT(scene.texts(),
              ElementsAre("+enter@1", "+enter@1", "+stay@6", "+stay@6", "+count@10"));
  scene.changes.clear();
}

struct Break {
  Discontinuity discontinuity;
  std::chrono::nanoseconds time;
  std::uint8_t first_track;  ///< afterwards; 1: the ids are as before
  double shift;              ///< by which the persons have moved
};

class ShortBreak : public testing::TestWithParam<Break> {};

TEST_P(ShortBreak, RaisesAndEndsNothing) {
  EventScene scene(every_rule());
  let_two_stay(scene);
  const Break& gone = GetParam();
  scene.pause(gone.time);
  scene.frame(two(gone.first_track, gone.shift), gone.discontinuity);
  for (int i = 0; i < 30; ++i) scene.frame(two(gone.first_track, gone.shift));
  EXPECT_THAT(scene.texts(), IsEmpty());
  scene.finish();
  EXPECT_EQ(scene.texts().size(), 5u) << "each open event ends once";
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShortBreak,
                         testing::Values(Break{Discontinuity::gap, seconds(0), 1, 0},
                                         Break{Discontinuity::gap, seconds(5), 1, 0},
                                         Break{Discontinuity::gap, seconds(29), 11, 3},
                                         Break{Discontinuity::reconnect, seconds(5), 1, 0},
                                         Break{Discontinuity::reconnect, seconds(5), 11, 0},
                                         Break{Discontinuity::reconnect, seconds(29), 11, 4},
                                         Break{Discontinuity::none, milliseconds(700), 1, 0},
                                         Break{Discontinuity::none, milliseconds(700), 11, 4}));

TEST(Break, WithAnEmptyWarmUpOfTheTrackerRaisesNothing) {
  EventScene scene(every_rule());
  let_two_stay(scene);
  scene.pause(seconds(4)).frame({}, Discontinuity::reconnect).empty(7);
  for (int i = 0; i < 30; ++i) scene.frame(two(21));
  EXPECT_THAT(scene.texts(), IsEmpty());
}

TEST(Break, RaisesNothingForTracksThatAreElsewhereAfterwards) {
  EventScene scene(every_rule());
  scene.walk({{100, 40}, {100, 50}});  // above the line, outside the zone
  scene.pause(seconds(3)).frame({node_at({110, 150}, 1)}, Discontinuity::gap);
  EXPECT_THAT(scene.texts(), IsEmpty()) << "neither a crossing nor an entering was seen";
  scene.walk({{110, 151}, {250, 250}});
  EXPECT_THAT(scene.texts(), ElementsAre("leave@4"));
}

TEST(Break, EndsWhatNobodySawEndingAsADiscontinuity) {
  EventScene scene(every_rule());
  scene.walk({{50, 150}, {150, 150}});
  scene.pause(seconds(3)).frame({node_at({400, 400}, 1)}, Discontinuity::reconnect);
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@1 discontinuity"));
}

TEST(Break, DoesNotCountAsStaying) {
  EventScene scene(every_rule());
  scene.walk({{150, 150}, {150, 150}, {150, 150}});
  scene.pause(seconds(20)).frame({node_at({150, 150}, 1)}, Discontinuity::gap);
  EXPECT_THAT(scene.texts(), IsEmpty());
  scene.walk({{150, 150}, {150, 150}, {150, 150}});
  EXPECT_THAT(scene.texts(), ElementsAre("+stay@6"));
}

TEST(Break, ChangesNoAttribute) {
  EventScene scene(every_rule());
  let_two_stay(scene);
  scene.pause(seconds(2)).frame(two(1, 0, "blue"), Discontinuity::gap);
  EXPECT_THAT(scene.texts(), IsEmpty());
}

class LongBreak : public testing::TestWithParam<std::pair<Discontinuity, std::chrono::seconds>> {};

TEST_P(LongBreak, EndsEachOpenEventOnceAndEntersNobody) {
  EventScene scene(every_rule());
  let_two_stay(scene);
  scene.pause(GetParam().second);
  scene.frame(two(1), GetParam().first);
  EXPECT_THAT(scene.texts(), ElementsAre("-enter@15 discontinuity", "-stay@15 discontinuity",
                                         "-enter@15 discontinuity", "-stay@15 discontinuity",
                                         "-count@15 discontinuity"));
  EXPECT_EQ(scene.detector.open_count(), 0u);
  scene.changes.clear();
  for (int i = 0; i < 4; ++i) scene.frame(two(1));
  EXPECT_THAT(scene.texts(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, LongBreak,
                         testing::Values(std::pair(Discontinuity::gap, seconds(31)),
                                         std::pair(Discontinuity::reconnect, seconds(31)),
                                         std::pair(Discontinuity::seek, seconds(0)),
                                         std::pair(Discontinuity::seek, seconds(-1)),
                                         std::pair(Discontinuity::loop, seconds(-1)),
                                         std::pair(Discontinuity::start, seconds(-1))));

TEST(Exposure, ThatHidesATrackForLongerThanTheGraceEndsItsEventsOnly) {
  EventScene scene(every_rule());
  let_two_stay(scene);
  scene.empty(11);
  for (int i = 0; i < 4; ++i) scene.frame(two(21));
  EXPECT_THAT(scene.texts(),
              ElementsAre("-enter@15 track_lost", "-stay@15 track_lost", "-enter@15 track_lost",
                          "-stay@15 track_lost", "-count@26 over", "+count@27"));
}

EventRules enter_rule() {
  EventRules rules = every_rule();
  rules.rules.resize(1);
  return rules;
}

TEST(Handover, IsToOneTrackOnly) {
  EventScene scene(enter_rule());
  scene.walk({{50, 150}, {150, 150}});
  scene.frame({node_at({151, 150}, 2), node_at({152, 150}, 3)}).empty(11);
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@2 track_lost"));
}

TEST(Handover, NeedsTheSameNameAPlaceNearAndASimilarSize) {
  for (const int wrong : {0, 1, 2}) {
    EventScene scene(enter_rule());
    scene.walk({{50, 150}, {150, 150}});
    DetectionNode other = node_at(wrong == 0 ? cv::Point2d(171, 150) : cv::Point2d(150, 150), 2,
                                  wrong == 1 ? "dog" : "person");
    if (wrong == 2) other.coords = rect_to_coords(cv::Rect2d(145, 65, 10, 85));
    for (int i = 0; i < 12; ++i) scene.frame({other});
    EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@1 track_lost")) << wrong;
  }
}

TEST(Handover, CanBeSwitchedOff) {
  EventRules rules = enter_rule();
  rules.handover = 0;
  EventScene scene(rules);
  scene.walk({{50, 150}, {150, 150}});
  for (int i = 0; i < 11; ++i) scene.frame({node_at({150, 150}, 2)});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@1 track_lost"));
}

TEST(EndOfStream, EndsEachOpenEventOnce) {
  EventScene scene(every_rule());
  let_two_stay(scene);
  scene.finish().finish();
  EXPECT_THAT(scene.texts(),
              ElementsAre("-enter@15 stream_end", "-stay@15 stream_end", "-enter@15 stream_end",
                          "-stay@15 stream_end", "-count@15 stream_end"));
  EXPECT_EQ(scene.detector.track_count(), 0u);
}

TEST(EventDetector, IsTheSameForTheSameSeed) {
  const auto run = [](std::uint64_t seed) {
    EventDetector detector(every_rule(), seed);
    std::vector<EventChange> all;
    for (int i = 0; i < 4; ++i) {
      Frame frame;
      frame.index = i;
      frame.pts = i * milliseconds(100);
      for (const EventChange& change :
           detector.update(frame, {640, 480}, std::vector{node_at({50.0 + i * 40, 150}, 1)}))
        all.push_back(change);
    }
    return all;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(EventDetector, RefusesWrongFramesAndChangesNothing) {
  EventScene scene(every_rule());
  scene.walk({{50, 150}, {150, 150}});
  Frame frame;
  frame.index = 2;
  frame.pts = milliseconds(50);
  const std::vector<DetectionNode> nodes{node_at({250, 250}, 1)};
  EXPECT_THAT(
      [&] {
        scene.detector.update(frame, {640, 480}, nodes);
      },
      ThrowsError<InvalidArgument>(
          ErrorCode::invalid_argument,
          testing::AllOf(HasSubstr("frame 2 is at 50000000 ns"), HasSubstr("100000000"))));
  frame.pts = milliseconds(200);
  EXPECT_THAT(
      [&] {
        scene.detector.update(frame, {640, 0}, nodes);
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("640 × 0")));
  for (const double wrong : {std::nan(""), HUGE_VAL, 1e10}) {
    DetectionNode node = node_at({250, 250}, 1);
    node.coords[1].x = wrong;
    EXPECT_THAT(
        [&] {
          scene.detector.update(frame, {640, 480}, std::vector{node});
        },
        ThrowsError<InvalidArgument>(ErrorCode::invalid_node, HasSubstr("\"person\"")))
        << wrong;
  }
  EXPECT_EQ(scene.detector.open_count(), 1u);
  scene.walk({{250, 250}});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1", "-enter@2 left", "leave@2"));
}

TEST(EventDetector, IgnoresFurtherNodesOfATrackAndNodesWithoutAnOutline) {
  EventScene scene(every_rule());
  DetectionNode blank = node_at({0, 0}, 3);
  blank.coords.clear();
  scene.frame({node_at({50, 150}, 1), node_at({150, 150}, 1), blank});
  scene.frame({node_at({150, 150}, 1), node_at({50, 150}, 1), blank});
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1"));
  EXPECT_EQ(scene.detector.track_count(), 1u);
}

TEST(EventDetector, TakesNodesWithinOthers) {
  EventScene scene(every_rule());
  for (const double x : {50.0, 150.0}) {
    DetectionNode parent{.name = "group"};
    parent.children = {node_at({x, 150}, 1)};
    scene.frame({parent});
  }
  EXPECT_THAT(scene.texts(), ElementsAre("+enter@1"));
}

TEST(EventDetector, ForgetsTracksThatAreGone) {
  EventScene scene(every_rule());
  for (int i = 0; i < 20'000; ++i) {
    const auto number = static_cast<std::uint8_t>(i / 20 % 200);
    scene.frame({node_at({40.0 + i % 20 * 10, 150}, number)});
    ASSERT_LE(scene.detector.track_count(), 2u);
  }
  expect_one_begin_and_end(scene.changes);
}

}  // namespace
}  // namespace vcap::test
