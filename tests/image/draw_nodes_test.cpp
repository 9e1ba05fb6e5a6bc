// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/draw_nodes.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::HasSubstr;

const cv::Scalar kGrey(90, 90, 90);
const DrawOptions kOutlines{
    .names = false, .confidence = false, .track_ids = false, .attributes = false};
const DrawOptions kLabels{.boxes = false, .polygons = false};

DetectionNode node(const BoundingBox& box, std::string name = "person") {
  return {.name = std::move(name), .coords = rect_to_coords(box)};
}

cv::Mat drawn(const DetectionNodes& nodes, const DrawOptions& options = {},
              cv::Size size = {320, 240}) {
  cv::Mat image(size, CV_8UC3, kGrey);
  draw_nodes(image, nodes, options);
  return image;
}

cv::Mat drawn(const DetectionNode& one, const DrawOptions& options = {},
              cv::Size size = {320, 240}) {
  return drawn(DetectionNodes::all({one}), options, size);
}

/// 255 at each pixel that differs from the background.
cv::Mat changes(const cv::Mat& image) {
  cv::Mat same;
  cv::inRange(image, kGrey, kGrey, same);
  return ~same;
}

/// The smallest rectangle around all that was drawn; empty if nothing was drawn.
cv::Rect extent(const cv::Mat& image) { return cv::boundingRect(changes(image)); }

int count_of(const cv::Mat& image, const cv::Scalar& color) {
  cv::Mat found;
  cv::inRange(image, color, color, found);
  return cv::countNonZero(found);
}

bool same(const cv::Mat& a, const cv::Mat& b) { return cv::norm(a, b, cv::NORM_INF) == 0; }

cv::Scalar pixel(const cv::Mat& image, int x, int y) {
  const auto value = image.at<cv::Vec3b>(y, x);
  return {double(value[0]), double(value[1]), double(value[2])};
}

TEST(StableColor, IsTheSameInEveryRunAndOnEveryMachine) {
  // Computed without the library: FNV-1a, then the textbook conversion from HSV to RGB.
  const struct {
    const char* text;
    cv::Scalar bgr;
  } cases[] = {
      {"", {25, 255, 189}},       {"a", {255, 193, 25}},
      {"person", {255, 25, 117}}, {"face", {193, 255, 102}},
      {"car", {102, 255, 181}},   {"bicycle", {210, 140, 21}},
      {"dog", {210, 84, 153}},    {"f81d4fae-7dec-41d0-a765-00a0c91e6bf6", {210, 21, 134}}};
  for (const auto& [text, bgr] : cases) EXPECT_EQ(stable_color(text), bgr) << text;
}

TEST(StableColor, IsBrightAndDiffersBetweenNames) {
  std::vector<cv::Scalar> colors;
  for (int i = 0; i < 200; ++i) {
    const cv::Scalar color = stable_color("track " + std::to_string(i));
    EXPECT_GE(*std::max_element(color.val, color.val + 3), 210);
    for (const double channel : {color[0], color[1], color[2]}) {
      EXPECT_GE(channel, 0);
      EXPECT_LE(channel, 255);
    }
    if (std::find(colors.begin(), colors.end(), color) == colors.end()) colors.push_back(color);
  }
  EXPECT_GT(colors.size(), 150u);
}

TEST(DrawNodes, DrawsTheBoxInItsColourAndLeavesTheRest) {
  const cv::Rect box(100, 80, 60, 90);
  const cv::Mat image = drawn(node({100, 80, 160, 170}), kOutlines);
  for (int x = 100; x < 160; ++x) {
    EXPECT_EQ(pixel(image, x, 80), stable_color("person"));
    EXPECT_EQ(pixel(image, x, 169), stable_color("person"));
  }
  for (int y = 80; y < 170; ++y) {
    EXPECT_EQ(pixel(image, 100, y), stable_color("person"));
    EXPECT_EQ(pixel(image, 159, y), stable_color("person"));
  }
  cv::Mat changed = changes(image);
  constexpr int line = 2;  // half of the thickest line at this size
  const cv::Rect outer(box.x - line, box.y - line, box.width + 2 * line, box.height + 2 * line);
  const cv::Rect inner(box.x + line, box.y + line, box.width - 2 * line, box.height - 2 * line);
  EXPECT_EQ(cv::countNonZero(changed(inner)), 0);
  changed(outer).setTo(0);
  EXPECT_EQ(cv::countNonZero(changed), 0);
}

TEST(DrawNodes, DrawsThePolygonWhenItIsNotTheBox) {
  const DetectionNode triangle{.name = "sail", .coords = {{50, 50}, {150, 50}, {50, 150}}};
  DrawOptions options = kOutlines;
  const cv::Mat both = drawn(triangle, options);
  EXPECT_EQ(pixel(both, 100, 100), stable_color("sail"));  // on the long side
  EXPECT_EQ(pixel(both, 149, 149), stable_color("sail"));  // the box's corner
  options.boxes = false;
  const cv::Mat polygon = drawn(triangle, options);
  EXPECT_EQ(pixel(polygon, 100, 100), stable_color("sail"));
  EXPECT_EQ(pixel(polygon, 149, 149), kGrey);
  options.polygons = false;
  EXPECT_TRUE(extent(drawn(triangle, options)).empty());
}

TEST(DrawNodes, DrawsABoxOnceWhenThePolygonIsTheBox) {
  DrawOptions box_only = kOutlines;
  box_only.polygons = false;
  EXPECT_TRUE(
      same(drawn(node({50, 50, 150, 150}), kOutlines), drawn(node({50, 50, 150, 150}), box_only)));
}

TEST(DrawNodes, PutsTheLabelAboveItsBox) {
  const cv::Rect label = extent(drawn(node({100, 80, 160, 170}), kLabels));
  EXPECT_EQ(label.x, 100);
  EXPECT_EQ(label.br().y, 80);
  EXPECT_GT(label.height, 8);
}

TEST(DrawNodes, PutsTheLabelInsideABoxThatTouchesTheTop) {
  const cv::Rect label = extent(drawn(node({100, 3, 160, 170}), kLabels));
  EXPECT_EQ(label.tl(), cv::Point(100, 3));
}

TEST(DrawNodes, KeepsWholeLabelsWithinTheImage) {
  const cv::Size free = extent(drawn(node({100, 80, 160, 170}), kLabels)).size();
  for (const BoundingBox& box : {BoundingBox{310, 100, 400, 200}, BoundingBox{-50, 100, 10, 200},
                                 BoundingBox{10, -30, 60, 5}, BoundingBox{310, 235, 330, 250},
                                 BoundingBox{-9, -9, 1, 1}, BoundingBox{-9, -9, 500, 500}})
    EXPECT_EQ(extent(drawn(node(box), kLabels)).size(), free) << box.rect();
}

TEST(DrawNodes, CutsALabelThatIsWiderThanTheImage) {
  const std::string name(1000, 'W');
  const cv::Rect label = extent(drawn(node({100, 80, 160, 170}, name), kLabels));
  const cv::Rect one_line = extent(drawn(node({100, 80, 160, 170}), kLabels));
  EXPECT_EQ(label.height, one_line.height);
  EXPECT_GT(label.width, 290);
  EXPECT_LE(label.width, 320);
}

TEST(DrawNodes, WritesLabelsThatStandOutFromTheirPatch) {
  for (int i = 0; i < 40; ++i) {
    const std::string name = "name " + std::to_string(i);
    cv::Mat image = drawn(node({100, 80, 160, 170}, name), kLabels);
    const cv::Mat label = image(extent(image));
    const cv::Scalar patch = stable_color(name);
    EXPECT_GT(count_of(label, patch), label.rows * label.cols / 2) << name;
    // The contrast must be at least a third of black to white, also with blended edges of letters.
    cv::Mat grey, contrast;
    cv::cvtColor(label, grey, cv::COLOR_BGR2GRAY);
    const double luma = 0.114 * patch[0] + 0.587 * patch[1] + 0.299 * patch[2];
    cv::absdiff(grey, cv::Scalar(luma), contrast);
    EXPECT_GT(cv::countNonZero(contrast > 85), label.rows * label.cols / 25) << name;
  }
}

TEST(DrawNodes, WritesNameConfidenceAndTrackInOneLine) {
  DetectionNode full = node({20, 80, 160, 170});
  full.extra_data["confidence"] = 0.87;
  full.track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  DrawOptions options = kLabels;
  options.color_by = DrawOptions::ColorBy::name;
  // The same text as a name alone gives the same label, except for the colour of that name.
  const cv::Rect expected =
      extent(drawn(node({20, 80, 160, 170}, "person 0.87 #f81d4fae"), kLabels));
  EXPECT_EQ(extent(drawn(full, options)), expected);
  options.confidence = false;
  EXPECT_EQ(extent(drawn(full, options)),
            extent(drawn(node({20, 80, 160, 170}, "person #f81d4fae"), kLabels)));
  options.names = false;
  EXPECT_EQ(extent(drawn(full, options)),
            extent(drawn(node({20, 80, 160, 170}, "#f81d4fae"), kLabels)));
  options.track_ids = false;
  EXPECT_TRUE(extent(drawn(full, options)).empty());
}

TEST(DrawNodes, WritesEachAttributeInALineOfItsOwn) {
  DetectionNode dressed = node({20, 120, 160, 170});
  const int one = extent(drawn(dressed, kLabels)).height;
  dressed.attributes = {{"upper_color", "red"}, {"lower_color", "blue"}};
  const cv::Rect three = extent(drawn(dressed, kLabels));
  EXPECT_EQ(three.height, 3 * one);
  EXPECT_EQ(three.br().y, 120);
  DrawOptions options = kLabels;
  options.attributes = false;
  EXPECT_EQ(extent(drawn(dressed, options)).height, one);
}

TEST(DrawNodes, LeavesOutLinesThatHaveNoRoom) {
  DetectionNode dressed = node({5, 5, 50, 35});
  for (int i = 0; i < 50; ++i) dressed.attributes["category" + std::to_string(i)] = "value";
  const cv::Rect label = extent(drawn(dressed, kLabels, {200, 60}));
  EXPECT_GT(label.height, 25);
  EXPECT_LE(label.height, 60);
  EXPECT_TRUE(extent(drawn(node({0, 0, 3, 3}), kLabels, {3, 3})).empty());
}

TEST(DrawNodes, ShowsOneMarkForACharacterThatTheFontLacks) {
  DrawOptions options = kLabels;
  options.color_by = DrawOptions::ColorBy::track;
  DetectionNode foreign = node({20, 80, 160, 170}, "caf\u00E9\n\u4EBA");
  DetectionNode marks = node({20, 80, 160, 170}, "caf???");
  foreign.track_id = marks.track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  EXPECT_TRUE(same(drawn(foreign, options), drawn(marks, options)));
}

TEST(DrawNodes, ColoursByTrackAcrossNamesOrByNameAcrossTracks) {
  DetectionNode first = node({50, 80, 110, 170}), second = node({200, 80, 260, 170}, "car");
  first.track_id = second.track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  DrawOptions options = kOutlines;
  const cv::Scalar of_track = stable_color(first.track_id->to_string());
  cv::Mat image = drawn(DetectionNodes::all({first, second}), options);
  EXPECT_EQ(pixel(image, 50, 100), of_track);
  EXPECT_EQ(pixel(image, 200, 100), of_track);
  options.color_by = DrawOptions::ColorBy::name;
  image = drawn(DetectionNodes::all({first, second}), options);
  EXPECT_EQ(pixel(image, 50, 100), stable_color("person"));
  EXPECT_EQ(pixel(image, 200, 100), stable_color("car"));
}

TEST(DrawNodes, DrawsChildrenUnlessTurnedOff) {
  DetectionNode parent = node({50, 80, 150, 200});
  parent.children = {node({80, 90, 120, 130}, "face")};
  DrawOptions options = kOutlines;
  EXPECT_EQ(pixel(drawn(parent, options), 80, 100), stable_color("face"));
  options.children = false;
  EXPECT_EQ(pixel(drawn(parent, options), 80, 100), kGrey);
}

TEST(DrawNodes, DrawsNoOutlineAcrossALabel) {
  const DetectionNode labelled = node({50, 80, 150, 200}),
                      crossing = node({20, 20, 300, 75}, "car");
  const cv::Rect label = extent(drawn(labelled, kLabels));
  EXPECT_TRUE(same(drawn(DetectionNodes::all({labelled, crossing}))(label),
                   drawn(DetectionNodes::all({crossing, labelled}))(label)));
}

TEST(DrawNodes, LeavesOutNodesWithoutFiniteCoords) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(extent(drawn({.name = "nowhere"})).empty());
  EXPECT_TRUE(extent(drawn(node({nan, 10, 50, 50}))).empty());
  EXPECT_TRUE(extent(drawn(node({10, 10, infinity, 50}))).empty());
}

TEST(DrawNodes, DrawsTheVisiblePartOfABoxFarLargerThanTheImage) {
  const cv::Mat image = drawn(node({-1e300, 100, 1e300, 1e18}), kOutlines);
  for (int x = 0; x < image.cols; ++x) EXPECT_EQ(pixel(image, x, 100), stable_color("person"));
  EXPECT_LE(extent(image).height, 4);
}

TEST(DrawNodes, DrawsNothingForANodeOutsideTheImage) {
  EXPECT_TRUE(extent(drawn(node({400, 80, 460, 170}))).empty());
  EXPECT_TRUE(extent(drawn(node({-1e9, -1e9, -1e8, -1e8}))).empty());
}

TEST(DrawNodes, DrawsNothingWithoutNodes) {
  EXPECT_TRUE(extent(drawn(DetectionNodes::none())).empty());
  EXPECT_TRUE(extent(drawn(DetectionNodes::all())).empty());
}

TEST(DrawNodes, DrawsLargerOnLargerImagesAndWithALargerScale) {
  const int small = extent(drawn(node({100, 80, 160, 170}), kLabels)).height;
  EXPECT_GT(extent(drawn(node({100, 80, 160, 170}), kLabels, {1920, 1080})).height, small);
  DrawOptions options = kLabels;
  options.scale = 3;
  EXPECT_GT(extent(drawn(node({100, 80, 160, 170}), options)).height, 2 * small);
}

TEST(DrawNodes, TakesTheObjectsOfARecord) {
  const std::vector<DetectionNode> objects{node({100, 80, 160, 170}), node({10, 10, 40, 60})};
  cv::Mat image(240, 320, CV_8UC3, kGrey);
  draw_nodes(image, objects);
  EXPECT_TRUE(same(image, drawn(DetectionNodes::all(objects))));
  EXPECT_FALSE(extent(image).empty());
}

TEST(DrawNodes, RefusesImagesThatAreNotColourImages) {
  const DetectionNodes nodes = DetectionNodes::all();
  for (const int type : {CV_8UC1, CV_8UC4, CV_32FC3}) {
    cv::Mat image(10, 10, type, cv::Scalar());
    try {
      draw_nodes(image, nodes);
      ADD_FAILURE() << cv::typeToString(type);
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("the image is of type " + cv::typeToString(type)));
    }
  }
  cv::Mat empty;
  EXPECT_THROW(draw_nodes(empty, nodes), InvalidArgument);
}

TEST(DrawNodes, RefusesAnInvalidScale) {
  cv::Mat image(10, 10, CV_8UC3, kGrey);
  for (const double scale : {-1.0, 101.0, std::numeric_limits<double>::quiet_NaN()}) {
    DrawOptions options;
    options.scale = scale;
    EXPECT_THROW(draw_nodes(image, DetectionNodes::all(), options), InvalidArgument) << scale;
  }
}

}  // namespace
}  // namespace vcap
