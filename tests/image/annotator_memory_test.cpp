// SPDX-License-Identifier: Apache-2.0
// Annotators that remember earlier frames.
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "image/annotator_canvas.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/heat_map_annotator.hpp"
#include "vcap/image/trail_annotator.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::annotated;
using test::box_node;
using test::color_at;
using test::equal_images;
using test::is_blank;
using test::kCanvasColor;

using Nodes = std::vector<DetectionNode>;

/// A tracked node whose feet are at that point.
DetectionNode walker(double x, double y, int number = 1) {
  DetectionNode node = box_node({x - 10, y - 40, x + 10, y});
  node.track_id = test::track(number);
  return node;
}

TEST(TrailAnnotator, DrawsTheWayOfATrack) {
  TrailAnnotator trails;
  EXPECT_TRUE(is_blank(annotated(trails, walker(100, 200), {.pts = seconds(0)})));
  const cv::Mat image = annotated(trails, walker(200, 200), {.pts = seconds(1)});
  EXPECT_EQ(color_at(image, 150, 200), stable_color(test::track(1).to_string()));
  EXPECT_EQ(color_at(image, 250, 200), kCanvasColor);
}

TEST(TrailAnnotator, TakesTheCentreIfAsked) {
  TrailAnnotator trails({.anchor = NodeAnchor::centre});
  annotated(trails, walker(100, 200));
  const cv::Mat image = annotated(trails, walker(200, 200), {.pts = seconds(1)});
  EXPECT_NE(color_at(image, 150, 180), kCanvasColor);
  EXPECT_EQ(color_at(image, 150, 200), kCanvasColor);
}

TEST(TrailAnnotator, KeepsTheTrailOfAHiddenTrackUntilItIsTooOld) {
  TrailAnnotator trails({.length = seconds(3)});
  annotated(trails, walker(100, 200), {.pts = seconds(0)});
  annotated(trails, walker(200, 200), {.pts = seconds(1)});
  EXPECT_FALSE(is_blank(annotated(trails, Nodes(), {.pts = seconds(3)})));
  EXPECT_EQ(trails.tracks(), 1u);
  EXPECT_TRUE(is_blank(annotated(trails, Nodes(), {.pts = milliseconds(4001)})));
  EXPECT_EQ(trails.tracks(), 0u);
}

TEST(TrailAnnotator, ForgetsEverythingAtADiscontinuity) {
  for (const Discontinuity why : {Discontinuity::start, Discontinuity::gap, Discontinuity::seek,
                                  Discontinuity::reconnect, Discontinuity::loop}) {
    TrailAnnotator trails;
    annotated(trails, walker(100, 200), {.pts = seconds(0)});
    EXPECT_TRUE(
        is_blank(annotated(trails, walker(200, 200), {.pts = seconds(1), .discontinuity = why})))
        << to_string(why);
  }
}

TEST(TrailAnnotator, ForgetsEverythingIfTimeGoesBack) {
  TrailAnnotator trails;
  annotated(trails, walker(100, 200), {.pts = seconds(5)});
  EXPECT_TRUE(is_blank(annotated(trails, walker(200, 200), {.pts = seconds(4)})));
}

TEST(TrailAnnotator, IsBoundedInTracksAndPoints) {
  TrailAnnotator trails({.length = seconds(100), .max_tracks = 3, .max_points = 2});
  for (int i = 0; i < 20; ++i)
    annotated(trails, walker(10 * i, 200, i), {.pts = milliseconds(10 * i)});
  EXPECT_EQ(trails.tracks(), 3u);
  // Of a long way, only the last part is left.
  trails.reset();
  for (int i = 0; i < 20; ++i)
    annotated(trails, walker(10 + 10 * i, 100), {.pts = milliseconds(10 * i)});
  const cv::Mat image = annotated(trails, walker(210, 100), {.pts = seconds(1)});
  EXPECT_NE(color_at(image, 205, 100), kCanvasColor);
  EXPECT_EQ(color_at(image, 100, 100), kCanvasColor);
}

TEST(TrailAnnotator, HasNoTrailsForNodesWithoutATrack) {
  TrailAnnotator trails;
  annotated(trails, box_node({90, 80, 110, 170}));
  EXPECT_TRUE(is_blank(annotated(trails, box_node({190, 80, 210, 170}), {.pts = seconds(1)})));
  EXPECT_EQ(trails.tracks(), 0u);
}

TEST(TrailAnnotator, RefusesSettingsOutOfRange) {
  EXPECT_THROW(TrailAnnotator({.length = seconds(0)}), InvalidArgument);
  EXPECT_THROW(TrailAnnotator({.max_tracks = 0}), InvalidArgument);
  EXPECT_THROW(TrailAnnotator({.max_points = 1}), InvalidArgument);
}

TEST(HeatMapAnnotator, IsHotWhereNodesHaveBeen) {
  HeatMapAnnotator heat({.opacity = 1});
  for (int i = 0; i < 9; ++i) annotated(heat, walker(100, 100), {.pts = milliseconds(100 * i)});
  const cv::Mat image = annotated(heat, walker(200, 100), {.pts = seconds(1)});
  const cv::Scalar often = color_at(image, 100, 100), once = color_at(image, 200, 100);
  EXPECT_GT(often[2], often[0]) << "red: " << often;
  EXPECT_GT(once[0], once[2]) << "blue: " << once;
  EXPECT_EQ(color_at(image, 10, 200), kCanvasColor);
}

TEST(HeatMapAnnotator, LosesItsHeatAfterManyHalfLives) {
  HeatMapAnnotator heat({.half_life = seconds(1), .opacity = 1});
  annotated(heat, walker(100, 100), {.pts = seconds(0)});
  // Thirty half-lives later, a new spot is a billion times as hot.
  const cv::Mat image = annotated(heat, walker(200, 100), {.pts = seconds(30)});
  EXPECT_LT(test::color_distance(color_at(image, 100, 100), kCanvasColor), 1);
  EXPECT_NE(color_at(image, 200, 100), kCanvasColor);
  HeatMapAnnotator forever({.half_life = seconds(0), .opacity = 1});
  annotated(forever, walker(100, 100), {.pts = seconds(0)});
  const cv::Mat kept = annotated(forever, walker(200, 100), {.pts = seconds(10)});
  EXPECT_EQ(color_at(kept, 100, 100), color_at(kept, 200, 100));
}

TEST(HeatMapAnnotator, GoesOnAfterAGapButNotAfterASeek) {
  for (const auto& [why, goes_on] :
       {std::pair{Discontinuity::gap, true}, std::pair{Discontinuity::reconnect, true},
        std::pair{Discontinuity::seek, false}, std::pair{Discontinuity::loop, false},
        std::pair{Discontinuity::start, false}}) {
    HeatMapAnnotator heat;
    annotated(heat, walker(100, 100), {.pts = seconds(0)});
    const cv::Mat image = annotated(heat, Nodes(), {.pts = seconds(1), .discontinuity = why});
    EXPECT_EQ(!is_blank(image), goes_on) << to_string(why);
  }
}

TEST(HeatMapAnnotator, BeginsAnewWithAnImageOfAnotherSize) {
  HeatMapAnnotator heat;
  annotated(heat, walker(100, 100));
  EXPECT_TRUE(is_blank(annotated(heat, Nodes(), {.pts = seconds(1)}, {100, 300})));
}

TEST(HeatMapAnnotator, RefusesSettingsOutOfRange) {
  EXPECT_THROW(HeatMapAnnotator({.half_life = seconds(-1)}), InvalidArgument);
  EXPECT_THROW(HeatMapAnnotator({.radius = 0}), InvalidArgument);
  EXPECT_THROW(HeatMapAnnotator({.opacity = 2}), InvalidArgument);
}

}  // namespace
}  // namespace vcap
