// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/multi_object_tracker.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/tracking_scenes.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Detections = std::vector<TrackedDetection>;

BoundingBox standing_at(double x) { return {x, 100, x + 40, 200}; }

/// A tracker that gets at most one box a frame.
class OneTracker : public testing::Test {
 protected:
  std::optional<Uuid> show(int ms, double x, double confidence = 0.9) {
    return tracker_
        .update(milliseconds(ms), Detections{{.box = standing_at(x), .confidence = confidence}})
        .found[0]
        .id;
  }
  MultiObjectTracker::Result show_nobody(int ms) { return tracker_.update(milliseconds(ms), {}); }
  void set(const TrackerSettings& settings) { tracker_.set_settings(settings); }

  MultiObjectTracker tracker_;
};

using MultiObjectTrackerTest = OneTracker;

TEST_F(MultiObjectTrackerTest, ConfirmsAConfidentDetectionAtOnce) {
  const auto id = show(0, 100, 0.7);
  ASSERT_TRUE(id);
  EXPECT_EQ(show(100, 105), id);
}

TEST_F(MultiObjectTrackerTest, ConfirmsAnUnsureDetectionWhenItIsFoundAgain) {
  EXPECT_FALSE(show(0, 100, 0.6));
  const auto id = show(100, 100, 0.6);
  ASSERT_TRUE(id);
  EXPECT_EQ(show(200, 100, 0.6), id);
}

TEST_F(MultiObjectTrackerTest, ConfirmsAfterTheGivenTime) {
  set({.confirm_after = milliseconds(200)});
  EXPECT_FALSE(show(0, 100, 0.6));
  EXPECT_FALSE(show(100, 100, 0.6));
  EXPECT_TRUE(show(200, 100, 0.6));
}

TEST_F(MultiObjectTrackerTest, ConfirmsATentativeTrackOnceItIsFoundWithConfidence) {
  set({.confirm_after = milliseconds(2000)});
  EXPECT_FALSE(show(0, 100, 0.6));
  EXPECT_TRUE(show(100, 100, 0.8));
}

TEST_F(MultiObjectTrackerTest, ConfirmsNoTrackAtOnceIfDisabled) {
  set({.confirm_at_once = 1.1});
  EXPECT_FALSE(show(0, 100, 1));
  EXPECT_TRUE(show(100, 100, 1));
}

struct Gap {
  const char* what;
  std::vector<int> missed;  ///< times without a detection, in ms
  int found;
  bool is_kept;
};

TEST_F(MultiObjectTrackerTest, ForgetsATentativeTrackThatIsNotFoundAgainInTime) {
  for (const Gap& gap : {Gap{"30 frames a second, in time", {33, 67, 100, 133}, 300, true},
                         Gap{"30 frames a second, too late", {33, 67, 100, 133}, 301, false},
                         Gap{"one frame in 2 s, the next", {}, 2000, true},
                         Gap{"one frame in 2 s, the one after", {2000}, 4000, false}}) {
    tracker_ = MultiObjectTracker();
    show(0, 100, 0.6);
    for (const int ms : gap.missed) show_nobody(ms);
    EXPECT_EQ(show(gap.found, 100, 0.6).has_value(), gap.is_kept) << gap.what;
  }
}

TEST_F(MultiObjectTrackerTest, ForgetsALostTrackThatIsNotFoundAgainInTime) {
  for (const Gap& gap : {Gap{"10 frames a second, in time", {100, 200, 1400}, 1500, true},
                         Gap{"10 frames a second, too late", {100, 200, 1400}, 1501, false},
                         Gap{"one frame in 2 s, the next", {}, 2000, true},
                         Gap{"one frame in 2 s, the one after", {2000}, 4000, false}}) {
    tracker_ = MultiObjectTracker();
    const auto id = show(0, 100);
    for (const int ms : gap.missed) show_nobody(ms);
    EXPECT_EQ(show(gap.found, 100) == id, gap.is_kept) << gap.what;
  }
}

TEST_F(MultiObjectTrackerTest, ContinuesTracksByUnsureDetectionsButStartsNone) {
  EXPECT_FALSE(show(0, 100, 0.49));
  EXPECT_EQ(tracker_.track_count(), 0u);
  const auto id = show(100, 100);
  EXPECT_EQ(show(200, 102, 0.2), id);
  EXPECT_FALSE(show(300, 104, 0.05));
}

TEST_F(MultiObjectTrackerTest, FindsAPersonAgainWhoWalkedOnUnseen) {
  std::optional<Uuid> id;
  for (int ms = 0; ms <= 1000; ms += 100) id = show(ms, 100 + ms * 0.08);
  for (int ms = 1100; ms < 2000; ms += 100) show_nobody(ms);
  EXPECT_EQ(show(2000, 260), id);
}

TEST_F(MultiObjectTrackerTest, SmoothsNoisyBoxes) {
  double roughness = 0, given = 0;
  for (int i = 0; i < 40; ++i) {
    const double x = i % 2 == 0 ? 100 : 104;
    const auto result = tracker_.update(milliseconds(40 * i), Detections{{.box = standing_at(x)}});
    if (i < 10) continue;
    given += 2;
    roughness += std::abs(result.found[0].box.x1 - 102);
  }
  EXPECT_LT(roughness, given / 2);
}

TEST_F(MultiObjectTrackerTest, GivesBackTheBoxOfADetectionWithoutATrack) {
  const BoundingBox box = standing_at(100);
  const auto result = tracker_.update({}, Detections{{.box = box, .confidence = 0.3}});
  EXPECT_EQ(result.found, (std::vector<MultiObjectTracker::Found>{{.box = box}}));
}

TEST_F(MultiObjectTrackerTest, GivesPredictedBoxesForTheGivenTime) {
  set({.emit_lost_for = milliseconds(300)});
  std::optional<Uuid> id;
  for (int ms = 0; ms <= 1000; ms += 100) id = show(ms, 100 + ms * 0.1);
  for (const int ms : {1100, 1200, 1300}) {
    const auto result = show_nobody(ms);
    ASSERT_THAT(result.predicted, SizeIs(1)) << ms;
    EXPECT_EQ(result.predicted[0].id, id);
    EXPECT_EQ(result.predicted[0].lost_for, milliseconds(ms - 1000));
    EXPECT_NEAR(result.predicted[0].box.x1, 100 + ms * 0.1, 8);
  }
  EXPECT_THAT(show_nobody(1400).predicted, IsEmpty());
  EXPECT_EQ(show(1500, 245), id);
}

TEST_F(MultiObjectTrackerTest, PredictsNeitherTentativeTracksNorAnythingByDefault) {
  show(0, 100);
  EXPECT_THAT(show_nobody(100).predicted, IsEmpty());
  set({.emit_lost_for = milliseconds(300)});
  show(200, 500, 0.6);
  EXPECT_THAT(show_nobody(300).predicted, SizeIs(1)) << "only the first track is predicted";
}

TEST_F(MultiObjectTrackerTest, KeepsLabelsApart) {
  const auto both = [&](int ms) {
    return tracker_.update(milliseconds(ms), Detections{{.box = standing_at(100), .label = 1},
                                                        {.box = standing_at(100), .label = 2}});
  };
  const auto first = both(0), second = both(100);
  EXPECT_NE(first.found[0].id, first.found[1].id);
  EXPECT_EQ(second.found[0].id, first.found[0].id);
  EXPECT_EQ(second.found[1].id, first.found[1].id);
}

/// Two people change places between two frames.
TEST_F(MultiObjectTrackerTest, DistinguishesPeopleByTheirEncodings) {
  const std::vector<float> red{1, 0, 0}, blue{0, 1, 0};
  const auto look = [&](int ms, double red_x, double blue_x) {
    return tracker_
        .update(milliseconds(ms), Detections{{.box = standing_at(red_x), .encoding = red},
                                             {.box = standing_at(blue_x), .encoding = blue}})
        .found;
  };
  const auto before = look(0, 100, 160);
  show_nobody(500);
  const auto after = look(1000, 160, 100);
  EXPECT_EQ(after[0].id, before[0].id);
  EXPECT_EQ(after[1].id, before[1].id);
}

TEST_F(MultiObjectTrackerTest, AveragesEncodingsOverTimeAndNotOverFrames) {
  const auto turning = [](int frames) {
    MultiObjectTracker tracker;
    for (int i = 0; i <= frames; ++i) {
      const double t = static_cast<double>(i) / frames;
      tracker.update(milliseconds(1000 * i / frames),
                     Detections{{.box = standing_at(100),
                                 .encoding = {{static_cast<float>(std::cos(t)),
                                               static_cast<float>(std::sin(t))}}}});
    }
    return tracker.save().at("tracks").at(0).at("encoding").get<std::vector<double>>();
  };
  const std::vector<double> few = turning(5), many = turning(30);
  EXPECT_NEAR(few[0], many[0], 0.06);
  EXPECT_NEAR(few[1], many[1], 0.06);
  EXPECT_LT(many[1], std::sin(0.9)) << "earlier encodings count, too";
  EXPECT_GT(many[1], std::sin(0.3));
}

TEST_F(MultiObjectTrackerTest, ForgetsEncodingsOfAnotherEncoder) {
  const auto look = [&](int ms, std::vector<float> encoding) {
    return tracker_
        .update(milliseconds(ms),
                Detections{{.box = standing_at(100), .encoding = std::move(encoding)}})
        .found[0]
        .id;
  };
  const auto id = look(0, {1, 0});
  EXPECT_EQ(look(100, {0, 0, 1}), id);
  EXPECT_EQ(look(200, {0, 0, 1}), id);
}

TEST_F(MultiObjectTrackerTest, AcceptsASecondFrameAtTheSameTime) {
  const auto id = show(100, 100);
  EXPECT_EQ(show(100, 101), id);
  EXPECT_EQ(show(100, 99), id);
}

TEST_F(MultiObjectTrackerTest, RefusesAFrameBeforeTheLast) {
  const auto id = show(100, 100);
  EXPECT_THROW(show(99, 100), InvalidArgument);
  EXPECT_EQ(show(100, 100), id) << "the refused call has changed the tracker";
  EXPECT_THROW(tracker_.update(nanoseconds::max(), {}), InvalidArgument);
}

TEST_F(MultiObjectTrackerTest, RefusesInvalidDetectionsAndChangesNothing) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  show(0, 100);
  const nlohmann::json before = tracker_.save();
  const TrackedDetection right{.box = standing_at(300), .encoding = {{1, 0}}};
  for (const TrackedDetection& wrong :
       {TrackedDetection{.box = {nan, 0, 1, 1}}, TrackedDetection{.box = {0, 0, 1, inf}},
        TrackedDetection{.box = {9, 0, 1, 1}}, TrackedDetection{.box = {0, 5, 1, 5}},
        TrackedDetection{.box = standing_at(1), .confidence = nan},
        TrackedDetection{.box = standing_at(1), .confidence = -0.1},
        TrackedDetection{.box = standing_at(1), .confidence = 1.1},
        TrackedDetection{.box = standing_at(1), .encoding = {{0, 0}}},
        TrackedDetection{.box = standing_at(1), .encoding = {{1, 0, 0}}},
        TrackedDetection{.box = standing_at(1), .encoding = {{NAN, 0}}}}) {
    try {
      tracker_.update(milliseconds(100), Detections{right, wrong});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("detection 1"));
    }
    EXPECT_EQ(tracker_.save(), before);
  }
}

TEST_F(MultiObjectTrackerTest, NamesSettingsOutOfRange) {
  const auto message = [](const TrackerSettings& settings) -> std::string {
    try {
      (void)MultiObjectTracker(settings);
    } catch (const InvalidArgument& error) {
      EXPECT_THROW(MultiObjectTracker().set_settings(settings), InvalidArgument);
      return error.what();
    }
    return "nothing was thrown";
  };
  const nanoseconds ago(-1);
  EXPECT_THAT(message({.association = {.min_iou = 2}}), HasSubstr("min_iou"));
  EXPECT_THAT(message({.motion = {.drift = -1}}), HasSubstr("drift"));
  EXPECT_THAT(message({.confirm_at_once = -1}), HasSubstr("confirm_at_once"));
  EXPECT_THAT(message({.confirm_after = ago}), HasSubstr("confirm_after"));
  EXPECT_THAT(message({.confirm_within = ago}), HasSubstr("confirm_within"));
  EXPECT_THAT(message({.max_lost = ago}), HasSubstr("max_lost"));
  EXPECT_THAT(message({.lost_fading = nanoseconds(0)}), HasSubstr("lost_fading"));
  EXPECT_THAT(message({.emit_lost_for = ago}), HasSubstr("emit_lost_for"));
  EXPECT_THAT(message({.encoding_memory = ago}), HasSubstr("encoding_memory"));
}

TEST_F(MultiObjectTrackerTest, RefusesAnInvalidSavedState) {
  show(0, 100);
  const nlohmann::json saved = tracker_.save();
  const auto refuses = [](const nlohmann::json& json) {
    try {
      MultiObjectTracker::restore(json);
    } catch (const InvalidArgument&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refuses(saved));
  EXPECT_TRUE(refuses(nullptr));
  for (const char* key : {"engine", "tracks", "pts"}) {
    nlohmann::json without = saved, other = saved;
    without.erase(key);
    EXPECT_TRUE(refuses(without)) << key;
    other[key] = "text";
    EXPECT_TRUE(refuses(other)) << key;
  }
  for (const char* key :
       {"filter", "label", "first_found", "last_found", "last_encoded", "is_found", "encoding"}) {
    nlohmann::json without = saved;
    without["tracks"][0].erase(key);
    EXPECT_TRUE(refuses(without)) << key;
  }
  for (const auto& [key, value] : std::vector<std::pair<const char*, nlohmann::json>>{
           {"id", "no id"}, {"last_found", 5'000'000'000}, {"encoding", {0, 0}}}) {
    nlohmann::json other = saved;
    other["tracks"][0][key] = value;
    EXPECT_TRUE(refuses(other)) << key;
  }
}

}  // namespace
}  // namespace vcap
