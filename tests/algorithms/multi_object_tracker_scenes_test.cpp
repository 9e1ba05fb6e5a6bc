// SPDX-License-Identifier: Apache-2.0
//
// Runs whole scenes through a tracker: checks how well it tracks, and that its results depend only
// on its input.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/tracking_scenes.hpp"

namespace vcap::scenes {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class TrackingScenes : public testing::TestWithParam<double> {
 protected:
  /// The sum of the scores of ten random crowds. People cross each other for 16 seconds.
  static Score in_crowds(const Detector& detector, int people, std::size_t looks = 0,
                         const TrackerSettings& settings = {}) {
    Score sum;
    for (unsigned seed = 1; seed <= 10; ++seed)
      sum += track(crowd(people, seed, looks), detector, 16, GetParam(), settings, seed);
    return sum;
  }
};

INSTANTIATE_TEST_SUITE_P(FramesASecond, TrackingScenes, testing::Values(30, 10, 5),
                         [](const auto& rate) {
                           return std::to_string(static_cast<int>(rate.param));
                         });

TEST_P(TrackingScenes, FollowsPeopleWhoWalkStraightOn) {
  std::vector<Person> people;
  for (int i = 0; i < 5; ++i)
    people.push_back({.x = 100.0 + 200 * i, .y = 300, .speed_x = 60 - 30.0 * i, .speed_y = 5});
  const Score score = track(people, {}, 6, GetParam());
  EXPECT_EQ(score.switches, 0);
  EXPECT_EQ(score.ids, 5u);
  EXPECT_EQ(score.false_boxes, 0);
  EXPECT_GT(score.coverage(), 0.97);
}

TEST_P(TrackingScenes, DistinguishesTwoPeopleWhoCrossAndCoverEachOther) {
  const std::vector<Person> people = {{.x = 200, .y = 310, .speed_x = 100},
                                      {.x = 700, .y = 300, .speed_x = -100}};
  const Score score = track(people, {}, 5, GetParam());
  EXPECT_EQ(score.switches, 0);
  EXPECT_EQ(score.ids, 2u);
  EXPECT_GT(score.coverage(), 0.9);
}

TEST_P(TrackingScenes, FindsPeopleAgainAfterASecondWithoutDetections) {
  const std::vector<Person> people = {{.x = 100, .y = 300, .speed_x = 80},
                                      {.x = 900, .y = 500, .speed_x = -50, .height = 160},
                                      {.x = 500, .y = 200}};
  const Score score = track(people, {.blind = {{3.0, 4.0}}}, 7, GetParam());
  EXPECT_EQ(score.switches, 0);
  EXPECT_EQ(score.ids, 3u);
}

TEST_P(TrackingScenes, KeepsIdsIfAFifthOfTheDetectionsIsMissing) {
  const Score score = in_crowds({.misses = 0.2}, 12);
  EXPECT_LE(score.switches, 16) << "of 120 people";
  EXPECT_LE(score.ids, 126u);
  EXPECT_GT(score.coverage(), 0.76);
  EXPECT_EQ(score.false_boxes, 0);
}

TEST_P(TrackingScenes, BridgesMissesByPredictedBoxes) {
  const Score score = in_crowds({.misses = 0.2}, 12, 0, {.emit_lost_for = milliseconds(500)});
  EXPECT_GT(score.coverage(), 0.95);
  // Predicted boxes of people who left, and of few others.
  EXPECT_LT(score.false_boxes, 1.1 * 0.5 * GetParam() * static_cast<double>(score.ids));
}

TEST_P(TrackingScenes, GivesFewIdsToFalseDetections) {
  const Score score = in_crowds({.misses = 0.2, .false_per_frame = 0.5}, 12);
  EXPECT_LE(score.switches, 20);
  EXPECT_GT(score.coverage(), 0.76);
  EXPECT_LT(score.false_boxes, score.boxes / 200)
      << "the detector gives about one false box for 12 boxes";
}

TEST_P(TrackingScenes, FollowsPeopleHalfCoveredByUnsureDetections) {
  const Score with = in_crowds({.misses = 0.1, .covered_confidence = 0.3}, 20);
  const Score without = in_crowds({.misses = 0.1}, 20);
  EXPECT_GT(with.coverage(), without.coverage() + 0.02);
  EXPECT_LE(with.switches, without.switches);
}

TEST_P(TrackingScenes, KeepsMoreIdsInACrowdWithEncodings) {
  const Detector detector{.misses = 0.1, .trembling = 0.03};
  const Score with = in_crowds(detector, 30, 32), without = in_crowds(detector, 30);
  EXPECT_LT(with.switches, without.switches);
  EXPECT_LE(with.switches, 40) << "of 300 people";
}

/// A noisy scene: its people, its detector, the tracker's settings, and the detections of each
/// frame.
struct Noisy {
  std::vector<Person> people = crowd(15, 3, 8);
  Detector detector{.misses = 0.2, .false_per_frame = 0.5, .covered_confidence = 0.3};
  TrackerSettings settings{.emit_lost_for = milliseconds(200)};

  std::vector<std::vector<TrackedDetection>> detections(unsigned seed, int frames = 120) const {
    std::mt19937 engine(seed);
    std::vector<std::vector<TrackedDetection>> all;
    for (int i = 0; i < frames; ++i) all.push_back(detect(people, i / 15.0, detector, engine));
    return all;
  }
  static nanoseconds time(std::size_t frame) { return nanoseconds(66'666'667) * frame; }
};

TEST(TrackerRuns, GiveTheSameForTheSameSeed) {
  const Noisy run;
  const auto frames = run.detections(1);
  MultiObjectTracker one(run.settings, 7), same(run.settings, 7), other(run.settings, 8);
  std::set<Uuid> ids, other_ids;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto result = one.update(Noisy::time(i), frames[i]);
    ASSERT_EQ(same.update(Noisy::time(i), frames[i]), result) << "frame " << i;
    for (const auto& found : result.found)
      if (found.id) ids.insert(*found.id);
    for (const auto& found : other.update(Noisy::time(i), frames[i]).found)
      if (found.id) other_ids.insert(*found.id);
  }
  EXPECT_EQ(ids.size(), other_ids.size());
  ids.merge(other_ids);
  EXPECT_TRUE(other_ids.empty()) << "both runs have a common id";
}

TEST(TrackerRuns, ContinueExactlyFromTheStateSavedAtAnyFrame) {
  const Noisy run;
  const auto frames = run.detections(2);
  MultiObjectTracker uninterrupted(run.settings, 7);
  auto restored = MultiObjectTracker::restore(uninterrupted.save(), run.settings);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto result = uninterrupted.update(Noisy::time(i), frames[i]);
    ASSERT_EQ(restored.update(Noisy::time(i), frames[i]), result) << "frame " << i;
    const std::string text = restored.save().dump();
    ASSERT_EQ(text, uninterrupted.save().dump()) << "frame " << i;
    restored = MultiObjectTracker::restore(nlohmann::json::parse(text), run.settings);
  }
}

TEST(TrackerRuns, NeverGiveAnIdTwiceInAFrameNorAgainOnceItIsForgotten) {
  const Noisy run;
  const auto frames = run.detections(3, 400);
  MultiObjectTracker tracker(run.settings, 7);
  std::map<Uuid, nanoseconds> last;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto result = tracker.update(Noisy::time(i), frames[i]);
    std::vector<Uuid> ids;
    for (const auto& found : result.found)
      if (found.id) ids.push_back(*found.id);
    for (const auto& predicted : result.predicted) ids.push_back(predicted.id);
    std::ranges::sort(ids);
    ASSERT_EQ(std::ranges::adjacent_find(ids), ids.end()) << "frame " << i;
    for (const Uuid& id : ids) {
      if (last.contains(id)) {
        ASSERT_LE(Noisy::time(i) - last[id], run.settings.max_lost);
      }
      last[id] = Noisy::time(i);
    }
  }
  EXPECT_GT(last.size(), 10u);
}

TEST(TrackerRuns, GiveTheSameForInterleavedStreamsAsForEachAlone) {
  const Noisy run;
  constexpr std::size_t kStreams = 5;
  std::vector<std::vector<std::vector<TrackedDetection>>> frames;
  std::vector<std::vector<MultiObjectTracker::Result>> alone(kStreams);
  for (unsigned s = 0; s < kStreams; ++s) {
    frames.push_back(run.detections(s, 60));
    MultiObjectTracker tracker(run.settings, s);
    for (std::size_t i = 0; i < frames[s].size(); ++i)
      alone[s].push_back(tracker.update(Noisy::time(i), frames[s][i]));
  }
  std::vector<MultiObjectTracker> trackers;
  for (std::size_t s = 0; s < kStreams; ++s) trackers.emplace_back(run.settings, s);
  std::vector<std::size_t> next(kStreams);
  std::mt19937 engine(1);
  for (std::size_t left = kStreams * 60; left > 0;) {
    const std::size_t s = engine() % kStreams;
    if (next[s] == 60) continue;
    ASSERT_EQ(trackers[s].update(Noisy::time(next[s]), frames[s][next[s]]), alone[s][next[s]])
        << "stream " << s << ", frame " << next[s];
    ++next[s];
    --left;
  }
}

TEST(TrackerRuns, ForgetEverythingOnceNobodyIsThere) {
  const Noisy run;
  MultiObjectTracker tracker(run.settings);
  const auto frames = run.detections(4);
  for (std::size_t i = 0; i < frames.size(); ++i) tracker.update(Noisy::time(i), frames[i]);
  EXPECT_GT(tracker.track_count(), 0u);
  for (std::size_t i = 0; i < 30; ++i) tracker.update(Noisy::time(frames.size() + i), {});
  EXPECT_EQ(tracker.track_count(), 0u);
}

TEST(TrackerRuns, HandleThousandsOfDetectionsAFrame) {
  MultiObjectTracker tracker;
  std::vector<TrackedDetection> side_by_side, on_a_heap(300, {.box = {10, 10, 50, 110}});
  for (int row = 0; row < 50; ++row)
    for (int column = 0; column < 60; ++column)
      side_by_side.push_back(
          {.box = {30.0 * column, 60.0 * row, 30.0 * column + 25, 60.0 * row + 55}});
  const auto first = tracker.update(milliseconds(0), side_by_side);
  for (int i = 1; i < 4; ++i)
    EXPECT_EQ(tracker.update(milliseconds(100 * i), side_by_side).found.size(), 3000u);
  EXPECT_EQ(tracker.track_count(), 3000u);
  MultiObjectTracker crowded;
  for (int i = 0; i < 4; ++i) crowded.update(milliseconds(100 * i), on_a_heap);
  EXPECT_EQ(crowded.track_count(), 300u);
}

}  // namespace
}  // namespace vcap::scenes
