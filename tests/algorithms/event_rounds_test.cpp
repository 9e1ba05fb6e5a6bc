// SPDX-License-Identifier: Apache-2.0
// Random scenes: the detector against a plain reference, and what holds for every scene.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/event_scenes.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;

/// Coordinates are whole numbers, so that a plain reference is exact.
struct RandomWalk {
  std::vector<std::optional<cv::Point2d>> places;  ///< absent: the track is missed
};

RandomWalk random_walk(std::mt19937& random, int frames) {
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  RandomWalk walk;
  cv::Point2d place(below(24) * 10, below(24) * 10);
  int missed = 0;
  for (int i = 0; i < frames; ++i) {
    if (below(6) == 0) missed = below(5);
    if (missed > 0) {
      --missed;
      walk.places.emplace_back();
      continue;
    }
    switch (below(4)) {
      case 0:  // trembles
        place += cv::Point2d(below(3) - 1, below(3) - 1);
        break;
      case 1:  // jumps
        place = cv::Point2d(below(24) * 10, below(24) * 10);
        break;
      default:
        place += cv::Point2d(below(31) - 15, below(31) - 15);
    }
    walk.places.emplace_back(place);
  }
  return walk;
}

std::int64_t turn(cv::Point2d a, cv::Point2d b, cv::Point2d c) {
  const auto x = [](cv::Point2d p) { return static_cast<std::int64_t>(p.x); };
  const auto y = [](cv::Point2d p) { return static_cast<std::int64_t>(p.y); };
  return (x(b) - x(a)) * (y(c) - y(a)) - (y(b) - y(a)) * (x(c) - x(a));
}

/// Looks at the whole walk: between two frames in which the point is clear of the line, on
/// different sides, it counts how often the path went through the line.
std::vector<std::string> reference_crossings(const RandomWalk& walk, const EventLine& line) {
  struct Step {
    int frame;
    cv::Point2d place;
    std::int64_t side;
    bool is_clear;
  };
  std::vector<Step> steps;
  const double length = std::hypot(line.to.x - line.from.x, line.to.y - line.from.y);
  for (int i = 0; i < static_cast<int>(walk.places.size()); ++i) {
    if (!walk.places[static_cast<std::size_t>(i)]) continue;
    const cv::Point2d place = *walk.places[static_cast<std::size_t>(i)];
    const std::int64_t side = turn(line.from, line.to, place);
    steps.push_back({i, place, side,
                     side != 0 && static_cast<double>(std::abs(side)) >= line.hysteresis * length});
  }
  std::vector<std::string> crossings;
  for (std::size_t begin = 0; begin < steps.size(); ++begin) {
    if (!steps[begin].is_clear) continue;
    std::size_t end = begin + 1;
    while (end < steps.size() && !steps[end].is_clear) ++end;
    if (end == steps.size() || (steps[begin].side > 0) == (steps[end].side > 0)) continue;
    int through = 0;
    std::int64_t side = steps[begin].side;
    for (std::size_t i = begin + 1; i <= end; ++i) {
      if (steps[i].side == 0 || (steps[i].side > 0) == (side > 0)) continue;
      side = steps[i].side;
      const Step& before = steps[i - 1];
      if (before.side == 0) {
        const cv::Point2d way = line.to - line.from;
        const double share = (before.place - line.from).dot(way) / way.dot(way);
        through += share >= 0 && share <= 1 ? 1 : 0;
      } else {
        const std::int64_t one = turn(before.place, steps[i].place, line.from);
        const std::int64_t other = turn(before.place, steps[i].place, line.to);
        through += (one >= 0 && other <= 0) || (one <= 0 && other >= 0) ? 1 : 0;
      }
    }
    if (through % 2 == 1)
      crossings.push_back((steps[end].side > 0 ? "cross in@" : "cross out@") +
                          std::to_string(steps[end].frame));
  }
  return crossings;
}

TEST(RandomScenes, CrossLinesAsAPlainReferenceSays) {
  std::mt19937 random(11);
  std::size_t crossings = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto coordinate = [&] { return static_cast<double>(random() % 24 * 10); };
    EventLine line{.name = "gate", .from = {coordinate(), coordinate()}};
    do line.to = {coordinate(), coordinate()};
    while (line.to == line.from || (line.to.x <= 1 && line.to.y <= 1 && line.from.x <= 1));
    line.hysteresis = static_cast<double>(random() % 8);
    const RandomWalk walk = random_walk(random, 40);
    EventScene scene({.grace = std::chrono::hours(1),
                      .lines = {line},
                      .rules = {{.name = "r", .what = CrossRule{.line = "gate"}}}});
    for (const auto& place : walk.places)
      place ? scene.frame({node_at(*place, 1)}) : scene.frame({});
    const auto expected = reference_crossings(walk, line);
    ASSERT_EQ(scene.texts(), expected) << "round " << round;
    ASSERT_EQ(expect_one_begin_and_end(scene.changes), 0u);
    crossings += expected.size();
  }
  EXPECT_GT(crossings, 3000u);
}

/// Visits of an upright rectangle.
std::vector<std::string> reference_visits(const RandomWalk& walk, cv::Point2d least,
                                          cv::Point2d most, double hysteresis) {
  std::vector<std::string> texts;
  std::optional<bool> inside;
  bool entered = false;
  for (std::size_t i = 0; i < walk.places.size(); ++i) {
    if (!walk.places[i]) continue;
    const cv::Point2d place = *walk.places[i];
    const double x = std::max({least.x - place.x, place.x - most.x, 0.0});
    const double y = std::max({least.y - place.y, place.y - most.y, 0.0});
    const double outside = std::hypot(x, y);
    const bool now = inside.value_or(false) ? outside <= hysteresis : outside == 0;
    if (inside && now && !*inside) {
      texts.push_back("+enter@" + std::to_string(i));
      entered = true;
    }
    if (inside && !now && *inside) {
      if (entered) texts.push_back("-enter@" + std::to_string(i) + " left");
      texts.push_back("leave@" + std::to_string(i));
      entered = false;
    }
    inside = now;
  }
  return texts;
}

TEST(RandomScenes, VisitZonesAsAPlainReferenceSays) {
  std::mt19937 random(12);
  std::size_t changes = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto coordinate = [&] { return static_cast<double>(random() % 20 * 10); };
    const cv::Point2d least(coordinate(), coordinate());
    const cv::Point2d most = least + cv::Point2d(10 + coordinate() / 2, 10 + coordinate() / 2);
    EventZone zone{.name = "yard",
                   .polygon = {least, {most.x, least.y}, most, {least.x, most.y}},
                   .hysteresis = static_cast<double>(random() % 12)};
    if (random() % 2 == 0) std::ranges::reverse(zone.polygon);
    const RandomWalk walk = random_walk(random, 40);
    EventScene scene({.grace = std::chrono::hours(1),
                      .zones = {zone},
                      .rules = {{.name = "in", .what = EnterRule{.zone = "yard"}},
                                {.name = "out", .what = LeaveRule{"yard"}}}});
    for (const auto& place : walk.places)
      place ? scene.frame({node_at(*place, 1)}) : scene.frame({});
    const auto expected = reference_visits(walk, least, most, zone.hysteresis);
    ASSERT_EQ(scene.texts(), expected) << "round " << round;
    changes += expected.size();
  }
  EXPECT_GT(changes, 5000u);
}

EventRules many_rules() {
  EventRules rules{.grace = milliseconds(300), .max_gap = milliseconds(1000)};
  for (int i = 0; i < 6; ++i) {
    const double x = 20.0 + 30 * i;
    EventZone zone{.name = "zone " + std::to_string(i),
                   .polygon = {{x, 20}, {x + 60, 30}, {x + 40, 100}, {x + 70, 180}, {x, 200}}};
    rules.rules.push_back({.name = "enter " + zone.name, .what = EnterRule{zone.name, i % 2 == 0}});
    rules.rules.push_back({.name = "leave " + zone.name, .what = LeaveRule{zone.name}});
    rules.rules.push_back(
        {.name = "stay " + zone.name, .what = StayRule{zone.name, {{"*", milliseconds(300)}}}});
    rules.rules.push_back({.name = "count " + zone.name,
                           .what = CountRule{.zone = zone.name, .at_least = 2, .slack = i % 2}});
    rules.zones.push_back(std::move(zone));
  }
  rules.rules.push_back({.name = "few", .what = CountRule{.at_most = 1}});
  rules.rules.push_back({.name = "colour", .what = AttributeRule{.category = "colour"}});
  rules.lines.push_back(test_line());
  rules.rules.push_back({.name = "cross", .what = CrossRule{.line = "gate"}});
  return rules;
}

TEST(RandomScenes, BeginAndEndEachEventExactlyOnce) {
  std::mt19937 random(13);
  const auto below = [&](unsigned bound) { return random() % bound; };
  constexpr std::array kAll{Discontinuity::gap, Discontinuity::reconnect, Discontinuity::seek,
                            Discontinuity::loop, Discontinuity::start};
  std::size_t events = 0;
  for (int round = 0; round < 600; ++round) {
    EventScene scene(many_rules());
    std::vector<RandomWalk> walks;
    for (int i = 0; i < 5; ++i) walks.push_back(random_walk(random, 60));
    std::uint8_t first = 0;
    for (std::size_t i = 0; i < 60; ++i) {
      if (below(20) == 0) first = static_cast<std::uint8_t>(below(200));  // the ids change
      std::vector<DetectionNode> nodes;
      for (std::size_t k = 0; k < walks.size(); ++k) {
        if (!walks[k].places[i]) continue;
        nodes.push_back(node_at(*walks[k].places[i], static_cast<std::uint8_t>(first + k)));
        nodes.back().attributes["colour"] = below(2) == 0 ? "red" : "blue";
      }
      std::shuffle(nodes.begin(), nodes.end(), random);
      if (below(15) == 0) scene.pause(milliseconds(below(2000)));
      if (below(25) == 0) scene.resize(below(2) == 0 ? cv::Size(640, 480) : cv::Size(320, 240));
      if (below(20) == 0)
        scene.null_frame();
      else
        scene.frame(nodes, below(12) == 0 ? kAll[below(kAll.size())] : Discontinuity::none);
      ASSERT_LE(scene.detector.track_count(), 40u);
    }
    ASSERT_EQ(expect_one_begin_and_end(scene.changes), scene.detector.open_count());
    scene.finish();
    ASSERT_EQ(expect_one_begin_and_end(scene.changes), 0u) << "round " << round;
    ASSERT_EQ(scene.detector.open_count(), 0u);
    events += scene.changes.size() / 2;
  }
  EXPECT_GT(events, 15'000u);
}

}  // namespace
}  // namespace vcap::test
