// SPDX-License-Identifier: Apache-2.0
// Crossings of lines, and the side of a line that a point is on.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "algorithms/event_scenes.hpp"
#include "algorithms/orientation.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Texts = std::vector<std::string>;

EventRules crossing_rules(EventLine line = test_line(),
                          CrossRule::Direction direction = CrossRule::Direction::both) {
  return {.lines = {std::move(line)},
          .rules = {{.name = "crossed", .what = CrossRule{"gate", direction}}}};
}

struct Walk {
  const char* name;
  std::vector<cv::Point2d> places;  ///< of the feet, frame by frame
  Texts expected;
};

std::ostream& operator<<(std::ostream& out, const Walk& walk) { return out << walk.name; }

class Crossing : public testing::TestWithParam<Walk> {};

TEST_P(Crossing, CountsExactlyWhatCrossed) {
  EventScene scene(crossing_rules());
  scene.walk(GetParam().places).finish();
  EXPECT_EQ(scene.texts(), GetParam().expected);
  EXPECT_EQ(expect_one_begin_and_end(scene.changes), 0u);
}

// The line is y = 100 from x = 50 to 150, with a hysteresis of 5.
INSTANTIATE_TEST_SUITE_P(
    Golden, Crossing,
    testing::Values(
        Walk{"downwards", {{100, 80}, {100, 95}, {100, 105}}, {"cross in@2"}},
        Walk{"upwards", {{100, 120}, {100, 90}}, {"cross out@1"}},
        Walk{"there and back", {{100, 90}, {100, 110}, {100, 90}}, {"cross in@1", "cross out@2"}},
        Walk{"trembling on the line, then back",
             {{100, 90}, {100, 101}, {100, 99}, {100, 103}, {100, 98}, {100, 90}},
             {}},
        Walk{"trembling on the line, then through",
             {{100, 90}, {100, 101}, {100, 99}, {100, 103}, {100, 98}, {100, 101}, {100, 110}},
             {"cross in@6"}},
        Walk{"through and less than the hysteresis beyond", {{100, 90}, {100, 104.9}}, {}},
        Walk{"through and the hysteresis beyond", {{100, 90}, {100, 105}}, {"cross in@1"}},
        Walk{"slowly, by less than the hysteresis at a time",
             {{100, 94}, {100, 97}, {100, 99}, {100, 100}, {100, 102}, {100, 104}, {100, 106}},
             {"cross in@6"}},
        Walk{"exactly on the line in between", {{100, 90}, {100, 100}, {100, 110}}, {"cross in@2"}},
        Walk{"to the line and back", {{100, 90}, {100, 100}, {100, 90}}, {}},
        Walk{"standing on the line, then on",
             {{100, 90}, {100, 100}, {100, 100}, {100, 100}, {100, 110}},
             {"cross in@4"}},
        Walk{"from exactly on the line", {{100, 100}, {100, 110}}, {}},
        Walk{"from exactly on the line, out and back through it",
             {{100, 100}, {100, 110}, {100, 90}},
             {"cross out@2"}},
        Walk{"from nearer than the hysteresis", {{100, 97}, {100, 110}}, {}},
        Walk{"beside the left end", {{49, 90}, {49, 110}}, {}},
        Walk{"beside the right end", {{151, 90}, {151, 110}}, {}},
        Walk{"exactly through the left end", {{50, 90}, {50, 110}}, {"cross in@1"}},
        Walk{"exactly through the right end", {{150, 90}, {150, 110}}, {"cross in@1"}},
        Walk{"aslant through an end", {{40, 90}, {60, 110}}, {"cross in@1"}},
        Walk{"aslant, just beside an end", {{39, 90}, {60, 110}}, {}},
        Walk{"along the line, beside it", {{40, 101}, {100, 101}, {160, 101}}, {}},
        Walk{"along the line, on it", {{40, 100}, {100, 100}, {160, 100}}, {}},
        Walk{"onto the line beside its end, along it, and off within it",
             {{30, 90}, {30, 100}, {100, 100}, {100, 110}},
             {"cross in@3"}},
        Walk{"onto the line within it, along it, and off beside its end",
             {{100, 90}, {100, 100}, {30, 100}, {30, 110}},
             {}},
        Walk{"trembling around an end: through the line, and back beside it",
             {{52, 90}, {52, 102}, {48, 102}, {48, 98}, {48, 90}},
             {}},
        Walk{"around the end to the other side, then through",
             {{30, 90}, {30, 110}, {100, 110}, {100, 90}},
             {"cross out@3"}},
        Walk{"fast", {{100, -4000}, {100, 4000}}, {"cross in@1"}},
        Walk{"fast and aslant", {{-900, -900}, {1100, 1100}}, {"cross in@1"}},
        Walk{"fast and aslant beside it", {{-900, -900}, {1300, 1100}}, {}}),
    [](const auto& one) { return "Case" + std::to_string(one.index); });

TEST(Crossings, CountOnceOverMissedFrames) {
  EventScene scene(crossing_rules());
  scene.walk({{100, 80}, {100, 90}}).empty(5).walk({{100, 130}, {100, 140}}).finish();
  EXPECT_THAT(scene.texts(), ElementsAre("cross in@7"));
}

TEST(Crossings, DoNotCountOverMissedFramesBesideTheEnds) {
  EventScene scene(crossing_rules());
  scene.walk({{40, 90}}).empty(5).walk({{45, 130}}).finish();
  EXPECT_THAT(scene.texts(), IsEmpty());
}

TEST(Crossings, CountOnceOverNullFrames) {
  EventScene scene(crossing_rules());
  scene.walk({{100, 90}}).null_frame().null_frame().walk({{100, 110}}).finish();
  EXPECT_THAT(scene.texts(), ElementsAre("cross in@3"));
}

TEST(Crossings, DoNotCountForATrackThatIsGoneForLongerThanTheGrace) {
  EventScene scene(crossing_rules());
  scene.walk({{100, 90}}).empty(11).walk({{100, 130}}).finish();
  EXPECT_THAT(scene.texts(), IsEmpty());
}

TEST(Crossings, CountOnceIfTheIdChangesOnTheWay) {
  EventScene scene(crossing_rules());
  scene.walk({{100, 90}, {100, 98}})
      .frame({node_at({100, 103}, 2)})
      .frame({node_at({100, 112}, 2)});
  EXPECT_THAT(scene.texts(), ElementsAre("cross in@3"));
}

TEST(Crossings, HaveOnlyTheWantedDirection) {
  const std::vector<cv::Point2d> there_and_back{{100, 90}, {100, 110}, {100, 90}};
  EventScene in(crossing_rules(test_line(), CrossRule::Direction::in));
  EXPECT_THAT(in.walk(there_and_back).texts(), ElementsAre("cross in@1"));
  EventScene out(crossing_rules(test_line(), CrossRule::Direction::out));
  EXPECT_THAT(out.walk(there_and_back).texts(), ElementsAre("cross out@2"));
}

TEST(Crossings, TurnAroundIfTheLineDoes) {
  EventLine line = test_line();
  std::swap(line.from, line.to);
  EXPECT_THAT(EventScene(crossing_rules(line)).walk({{100, 90}, {100, 110}}).texts(),
              ElementsAre("cross out@1"));
}

TEST(Crossings, WithoutAHysteresisCountEveryChangeOfSide) {
  EventScene scene(crossing_rules(test_line(0)));
  scene.walk({{100, 99}, {100, 100}, {100, 101}, {100, 100}, {100, 99}});
  EXPECT_THAT(scene.texts(), ElementsAre("cross in@2", "cross out@4"));
}

TEST(Crossings, UseTheChosenPointOfTheBox) {
  EventLine line = test_line();
  line.point = BoxPoint::top_centre;  // 40 above the feet
  EXPECT_THAT(EventScene(crossing_rules(line)).walk({{100, 90}, {100, 130}, {100, 150}}).texts(),
              ElementsAre("cross in@2"));
}

TEST(Crossings, OfOneTrackAreIndependentOfOthers) {
  EventScene scene(crossing_rules());
  scene.frame({node_at({80, 90}, 1), node_at({120, 110}, 2)});
  scene.frame({node_at({120, 110}, 2), node_at({80, 110}, 1)});
  scene.frame({node_at({120, 90}, 2)});
  EXPECT_THAT(scene.texts(), ElementsAre("cross in@1", "cross out@2"));
}

TEST(Crossings, TellTheTrackAndItsBox) {
  EventScene scene(crossing_rules());
  scene.walk({{100, 90}, {100, 110}});
  ASSERT_THAT(scene.changes, SizeIs(2));
  const Event& event = scene.changes[1].event;
  EXPECT_EQ(event.track_id, track_id(1));
  EXPECT_EQ(event.object, "person");
  EXPECT_EQ(event.line, "gate");
  EXPECT_EQ(event.bbox, (BoundingBox{90, 70, 110, 110}));
  EXPECT_EQ(event.begin, (EventMoment{1, EventScene::kStep}));
  EXPECT_EQ(event.end, event.begin);
}

/// By integers: exact.
int exact_side(std::int64_t ax, std::int64_t ay, std::int64_t bx, std::int64_t by, std::int64_t cx,
               std::int64_t cy) {
  const std::int64_t left = (bx - ax) * (cy - ay);  // below 2^46
  const std::int64_t right = (by - ay) * (cx - ax);
  return left > right ? 1 : left < right ? -1 : 0;
}

TEST(Orientation, IsExactForPointsThatAreNearlyOnTheLine) {
  std::mt19937_64 engine(3);
  const auto number = [&] { return static_cast<std::int64_t>(engine() >> 12) - (1LL << 51); };
  int zeros = 0, differences = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::int64_t ax = number() >> 4, ay = number() >> 4;
    const std::int64_t dx = number() >> 40, dy = number() >> 40;
    const auto far = static_cast<std::int64_t>(engine() % (1 << 20));
    const std::int64_t cx = ax + far * dx + static_cast<std::int64_t>(engine() % 3) - 1;
    const std::int64_t cy = ay + far * dy;
    // Steps of 2^-30, so that the coordinates are those of a picture.
    const auto place = [](std::int64_t x, std::int64_t y) {
      return cv::Point2d(std::ldexp(static_cast<double>(x), -30),
                         std::ldexp(static_cast<double>(y), -30));
    };
    const int expected = exact_side(ax, ay, ax + dx, ay + dy, cx, cy);
    const cv::Point2d a = place(ax, ay), b = place(ax + dx, ay + dy), c = place(cx, cy);
    ASSERT_EQ(orientation(a, b, c), expected) << "round " << i;
    ASSERT_EQ(orientation(b, a, c), -expected);
    zeros += expected == 0 ? 1 : 0;
    // The plain formula, multiplied out, is often wrong here.
    const double plain = b.x * c.y - b.x * a.y - a.x * c.y - b.y * c.x + b.y * a.x + a.y * c.x;
    differences += (plain > 0) - (plain < 0) != expected ? 1 : 0;
  }
  EXPECT_GT(zeros, 1000);
  EXPECT_GT(differences, 1000);
}

TEST(Orientation, IsExactIfDifferencesOfCoordinatesAreRounded) {
  // c is on the line through the origin and b, or half a unit in the last place of it away.
  const cv::Point2d a(0x1p-60, 0x1p-60), b(12, 12);
  EXPECT_EQ(orientation(a, b, {24, 24}), 0);
  EXPECT_EQ(orientation(a, b, {24, std::nextafter(24.0, 25.0)}), 1);
  EXPECT_EQ(orientation(a, b, {std::nextafter(24.0, 25.0), 24}), -1);
}

}  // namespace
}  // namespace vcap::test
