// SPDX-License-Identifier: Apache-2.0
// What all annotators have in common, and those that draw shapes.
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "image/annotator_canvas.hpp"
#include "support/throws_error.hpp"
#include "vcap/image/image.hpp"

namespace vcap {
namespace {

using test::annotated;
using test::box_node;
using test::canvas;
using test::color_at;
using test::equal_images;
using test::is_blank;
using test::kCanvasColor;
using testing::ElementsAre;
using testing::HasSubstr;

using Shape = BoxSettings::Shape;

TEST(Annotators, DrawTheirPartsInOrder) {
  const DetectionNode node = box_node({100, 80, 160, 170});
  Annotators boxes_on_top, masks_on_top;
  boxes_on_top.add<MaskAnnotator>(MaskSettings{.opacity = 1}).add<BoxAnnotator>();
  masks_on_top.add<BoxAnnotator>(BoxSettings{.style = {.color_by = ColorBy::name}})
      .add<MaskAnnotator>(MaskSettings{.opacity = 1});
  cv::Mat by_hand = canvas();
  MaskAnnotator masks({.opacity = 1});
  BoxAnnotator boxes;
  masks.annotate(by_hand, std::span(&node, 1));
  boxes.annotate(by_hand, std::span(&node, 1));
  EXPECT_TRUE(equal_images(annotated(boxes_on_top, node), by_hand));
}

TEST(Annotators, RefuseANullPart) {
  Annotators parts;
  EXPECT_THROW(parts.add(nullptr), InvalidArgument);
}

TEST(Annotators, ResetAllParts) {
  Annotators parts;
  auto trails = std::make_unique<TrailAnnotator>();
  const TrailAnnotator& seen = *trails;
  parts.add(std::move(trails));
  DetectionNode node = box_node({100, 80, 160, 170});
  node.track_id = test::track(1);
  annotated(parts, node);
  EXPECT_EQ(seen.tracks(), 1u);
  parts.reset();
  EXPECT_EQ(seen.tracks(), 0u);
}

TEST(Annotators, ListThePicturesOfTheirPartsOnce) {
  Annotators parts;
  parts.add<LabelMapAnnotator>(LabelMapSettings{.picture = "mask"})
      .add<BoxAnnotator>()
      .add<LabelMapAnnotator>(LabelMapSettings{.picture = "ground"})
      .add<LabelMapAnnotator>(LabelMapSettings{.picture = "mask"});
  EXPECT_THAT(parts.pictures(), ElementsAre("ground", "mask"));
}

TEST(Annotators, RefuseImagesThatAreNotColourImages) {
  BoxAnnotator boxes;
  for (const int type : {CV_8UC1, CV_8UC4, CV_32FC3}) {
    cv::Mat image(10, 10, type, cv::Scalar());
    EXPECT_THAT([&] { boxes.annotate(image, {}); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                             HasSubstr("of type " + cv::typeToString(type))));
  }
  cv::Mat empty;
  EXPECT_THROW(boxes.annotate(empty, {}), InvalidArgument);
}

TEST(Annotators, RefuseAScaleOutOfRange) {
  for (const double scale : {-1.0, 101.0, std::numeric_limits<double>::quiet_NaN()}) {
    const AnnotatorStyle style{.scale = scale};
    EXPECT_THROW(BoxAnnotator({.style = style}), InvalidArgument) << scale;
    EXPECT_THROW(LabelAnnotator({.style = style}), InvalidArgument) << scale;
    EXPECT_THROW(KeypointAnnotator({.style = style}), InvalidArgument) << scale;
  }
}

TEST(BoxAnnotator, DrawsRectanglesAsDrawNodesDoes) {
  const DetectionNode node = box_node({100, 80, 160, 170});
  cv::Mat expected = canvas();
  draw_nodes(expected, std::span(&node, 1),
             {.names = false, .confidence = false, .track_ids = false, .attributes = false});
  BoxAnnotator boxes;
  EXPECT_TRUE(equal_images(annotated(boxes, node), expected));
}

TEST(BoxAnnotator, LeavesOutTheCornerOfARoundedBox) {
  BoxAnnotator rounded({.shape = Shape::rounded});
  const cv::Mat image = annotated(rounded, box_node({100, 80, 200, 200}));
  EXPECT_EQ(color_at(image, 100, 80), kCanvasColor);
  EXPECT_EQ(color_at(image, 199, 199), kCanvasColor);
  EXPECT_EQ(color_at(image, 150, 80), stable_color("person"));
  EXPECT_EQ(color_at(image, 100, 140), stable_color("person"));
}

TEST(BoxAnnotator, DrawsOnlyTheCornersIfAsked) {
  BoxAnnotator corners({.shape = Shape::corners});
  const cv::Mat image = annotated(corners, box_node({100, 80, 200, 200}));
  for (const cv::Point corner : {cv::Point(100, 80), {199, 80}, {199, 199}, {100, 199}})
    EXPECT_EQ(color_at(image, corner.x, corner.y), stable_color("person")) << corner;
  for (const cv::Point middle : {cv::Point(150, 80), {199, 140}, {150, 199}, {100, 140}})
    EXPECT_EQ(color_at(image, middle.x, middle.y), kCanvasColor) << middle;
}

TEST(BoxAnnotator, ShowsABoxWithoutAreaInEveryShape) {
  for (const Shape shape : {Shape::rectangle, Shape::rounded, Shape::corners}) {
    BoxAnnotator boxes({.shape = shape});
    EXPECT_FALSE(is_blank(annotated(boxes, box_node({100, 80, 100, 80}))));
  }
}

TEST(PolygonAnnotator, DrawsUprightBoxesUnlessTurnedOff) {
  const DetectionNode triangle{.name = "sail", .coords = {{50, 50}, {150, 50}, {50, 150}}};
  PolygonAnnotator all, odd({.upright_boxes = false});
  EXPECT_FALSE(is_blank(annotated(all, box_node({100, 80, 160, 170}))));
  EXPECT_TRUE(is_blank(annotated(odd, box_node({100, 80, 160, 170}))));
  EXPECT_TRUE(equal_images(annotated(all, triangle), annotated(odd, triangle)));
}

TEST(MaskAnnotator, MixesTheColourIntoTheOutlineByItsOpacity) {
  const DetectionNode triangle{.name = "sail", .coords = {{50, 50}, {150, 50}, {50, 150}}};
  MaskAnnotator masks({.opacity = 0.25});
  const cv::Mat image = annotated(masks, triangle);
  EXPECT_LE(test::color_distance(color_at(image, 70, 70),
                                 kCanvasColor * 0.75 + stable_color("sail") * 0.25),
            1);
  EXPECT_EQ(color_at(image, 140, 140), kCanvasColor);
  EXPECT_THROW(MaskAnnotator({.opacity = 1.5}), InvalidArgument);
}

TEST(LabelMapAnnotator, PaintsLabelsButTheBackground) {
  cv::Mat mask(240, 320, CV_8UC1, cv::Scalar(0));
  mask(cv::Rect(0, 0, 100, 100)).setTo(2);
  mask(cv::Rect(100, 0, 100, 100)).setTo(5);
  Frame frame;
  frame.pictures.set("mask", mask);
  LabelMapAnnotator labels(
      {.picture = "mask", .opacity = 1, .palette = {{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}});
  const cv::Mat image = annotated(labels, std::span<const DetectionNode>(), frame);
  EXPECT_EQ(color_at(image, 50, 50), cv::Scalar(3, 3, 3));
  EXPECT_EQ(color_at(image, 150, 50), cv::Scalar(3, 3, 3)) << "the palette is repeated";
  EXPECT_EQ(color_at(image, 250, 50), kCanvasColor);
}

TEST(LabelMapAnnotator, FitsAPictureOfAnotherSizeAndAnotherType) {
  cv::Mat mask(2, 2, CV_16UC1, cv::Scalar(0));
  mask.at<std::uint16_t>(1, 1) = 300;
  Frame frame;
  frame.pictures.set("mask", mask);
  LabelMapAnnotator labels({.picture = "mask", .opacity = 1});
  const cv::Mat image = annotated(labels, std::span<const DetectionNode>(), frame);
  EXPECT_EQ(color_at(image, 300, 200), stable_color("300"));
  EXPECT_EQ(color_at(image, 100, 200), kCanvasColor);
}

TEST(LabelMapAnnotator, DrawsNothingWithoutThePictureAndRefusesAnotherType) {
  LabelMapAnnotator labels({.picture = "mask"});
  EXPECT_TRUE(is_blank(annotated(labels, std::span<const DetectionNode>())));
  Frame frame;
  frame.pictures.set("mask", cv::Mat(2, 2, CV_32FC1, cv::Scalar(0)));
  EXPECT_THAT([&] { annotated(labels, std::span<const DetectionNode>(), frame); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("32FC1")));
  EXPECT_THROW(LabelMapAnnotator({}), InvalidArgument);
}

TEST(KeypointAnnotator, DrawsBonesBetweenTheKeypointsThatAreThere) {
  DetectionNode person{.name = "person"};
  person.keypoints = {{.name = "left_hip", .point = {100, 50}},
                      {.name = "left_knee", .point = {100, 150}},
                      {.name = "right_hip", .point = {200, 50}}};
  KeypointAnnotator keypoints;
  const cv::Mat image = annotated(keypoints, person);
  EXPECT_NE(color_at(image, 100, 100), kCanvasColor) << "left thigh";
  EXPECT_NE(color_at(image, 150, 50), kCanvasColor) << "hips";
  EXPECT_EQ(color_at(image, 200, 100), kCanvasColor) << "the right knee is missing";
  EXPECT_NE(color_at(image, 100, 100), color_at(image, 150, 50)) << "sides have their colours";
}

TEST(KeypointAnnotator, LeavesOutUncertainAndInfiniteKeypoints) {
  DetectionNode person{.name = "person"};
  person.keypoints = {{.name = "nose", .point = {100, 50}, .confidence = 0.2},
                      {.name = "left_eye", .point = {std::numeric_limits<double>::infinity(), 50}},
                      {.name = "left_ear", .point = {50, std::numeric_limits<double>::quiet_NaN()}},
                      {.name = "right_eye",
                       .point = {90, 50},
                       .confidence = std::numeric_limits<double>::quiet_NaN()}};
  KeypointAnnotator keypoints;
  EXPECT_TRUE(is_blank(annotated(keypoints, person)));
  KeypointAnnotator all({.min_confidence = 0});
  EXPECT_FALSE(is_blank(annotated(all, person)));
}

TEST(KeypointAnnotator, WritesNamesIfAsked) {
  DetectionNode person{.name = "person", .keypoints = {{.name = "nose", .point = {100, 50}}}};
  KeypointAnnotator plain, named({.names = true});
  EXPECT_GT(cv::countNonZero(test::drawn_mask(annotated(named, person))),
            2 * cv::countNonZero(test::drawn_mask(annotated(plain, person))));
}

/// A picture of fine stripes, which blurring makes even.
cv::Mat stripes() {
  cv::Mat image = canvas();
  for (int x = 0; x < image.cols; x += 2) image.col(x).setTo(cv::Scalar::all(200));
  return image;
}

double deviation(const cv::Mat& image) {
  cv::Scalar mean, spread;
  cv::meanStdDev(image, mean, spread);
  return spread[0];
}

TEST(BlurAnnotator, MakesABoxEvenAndLeavesTheRest) {
  cv::Mat image = stripes();
  const DetectionNode node = box_node({100, 80, 160, 170});
  BlurAnnotator blur({.margin = 0});
  blur.annotate(image, std::span(&node, 1));
  EXPECT_LT(deviation(image(cv::Rect(100, 80, 60, 90))), 10);
  image(cv::Rect(100, 80, 60, 90)).setTo(0);
  cv::Mat expected = stripes();
  expected(cv::Rect(100, 80, 60, 90)).setTo(0);
  EXPECT_TRUE(equal_images(image, expected));
}

TEST(BlurAnnotator, ReachesBeyondTheBoxByItsMargin) {
  cv::Mat image = stripes();
  const DetectionNode node = box_node({100, 80, 160, 140});
  BlurAnnotator blur({.margin = 0.5});
  blur.annotate(image, std::span(&node, 1));
  EXPECT_LT(deviation(image(cv::Rect(72, 52, 116, 116))), 10);
}

TEST(PixelateAnnotator, LeavesFewColours) {
  cv::Mat image(240, 320, CV_8UC3);
  cv::randu(image, 0, 255);
  const DetectionNode node = box_node({100, 80, 220, 170});
  PixelateAnnotator pixelate({.cells = 4, .margin = 0});
  pixelate.annotate(image, std::span(&node, 1));
  std::set<std::array<unsigned char, 3>> colors;
  for (int y = 80; y < 170; ++y)
    for (int x = 100; x < 220; ++x) {
      const auto color = image.at<cv::Vec3b>(y, x);
      colors.insert({color[0], color[1], color[2]});
    }
  EXPECT_LE(colors.size(), 12u);  // 4 × 3 squares
}

TEST(PixelateAnnotator, RefusesSettingsOutOfRange) {
  EXPECT_THROW(PixelateAnnotator({.cells = 0}), InvalidArgument);
  EXPECT_THROW(PixelateAnnotator({.margin = -1}), InvalidArgument);
  EXPECT_THROW(BlurAnnotator({.strength = 0}), InvalidArgument);
  EXPECT_THROW(BlurAnnotator({.margin = std::numeric_limits<double>::quiet_NaN()}),
               InvalidArgument);
}

TEST(ZoneAnnotator, DrawsItsZonesAndCountsTheFeetWithin) {
  const DrawnZone zone{.name = "door", .outline = {{50, 50}, {150, 50}, {150, 150}, {50, 150}}};
  ZoneAnnotator zones({.zones = {zone}});
  const cv::Mat none = annotated(zones, box_node({200, 40, 220, 100}));
  const cv::Mat one = annotated(zones, box_node({90, 10, 110, 100}));
  EXPECT_LT(test::color_distance(color_at(none, 150, 140), stable_color("door")), 20);
  EXPECT_NE(color_at(none, 100, 120), kCanvasColor) << "filled";
  EXPECT_EQ(color_at(none, 200, 120), kCanvasColor);
  EXPECT_FALSE(equal_images(none, one)) << "the count has changed";
}

TEST(ZoneAnnotator, RefusesZonesThatAreNone) {
  EXPECT_THAT(
      [] {
        ZoneAnnotator({.zones = {{.name = "door", .outline = {{1, 1}, {2, 2}}}}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                   HasSubstr("zone \"door\" has 2 points")));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(ZoneAnnotator({.zones = {{.outline = {{1, 1}, {2, 2}, {nan, 0}}}}}),
               InvalidArgument);
}

TEST(ZoneAnnotator, DrawsItsLinesWithAnArrowToTheirRightSide) {
  ZoneAnnotator lines({.lines = {{.name = "path", .from = {60, 120}, .to = {260, 120}}}});
  const cv::Mat image = annotated(lines, std::span<const DetectionNode>());
  EXPECT_LT(test::color_distance(color_at(image, 240, 120), stable_color("path")), 20);
  EXPECT_NE(color_at(image, 160, 126), kCanvasColor) << "the arrow";
  EXPECT_EQ(color_at(image, 160, 112), kCanvasColor) << "nothing on the left side";
  EXPECT_NE(color_at(image, 64, 126), kCanvasColor) << "the name, where the line begins";
  EXPECT_EQ(color_at(image, 258, 126), kCanvasColor);

  ZoneAnnotator back({.lines = {{.from = {260, 120}, .to = {60, 120}}}});
  const cv::Mat other = annotated(back, std::span<const DetectionNode>());
  EXPECT_NE(color_at(other, 160, 112), kCanvasColor);
  EXPECT_EQ(color_at(other, 160, 128), kCanvasColor);
  ZoneAnnotator plain({.lines = {{.from = {260, 120}, .to = {60, 120}, .arrow = false}}});
  EXPECT_EQ(color_at(annotated(plain, std::span<const DetectionNode>()), 160, 112), kCanvasColor);
}

TEST(ZoneAnnotator, TakesSharesOfTheFrame) {
  const ZoneSettings pixels{
      .zones = {{.name = "door", .outline = {{80, 60}, {160, 60}, {80, 180}}}},
      .lines = {{.name = "path", .from = {32, 24}, .to = {288, 216}}}};
  ZoneSettings shares{
      .zones = {{.name = "door", .outline = {{0.25, 0.25}, {0.5, 0.25}, {0.25, 0.75}}}},
      .lines = {{.name = "path", .from = {0.1, 0.1}, .to = {0.9, 0.9}}},
      .relative = true};
  ZoneAnnotator in_pixels(pixels), in_shares(shares);
  const DetectionNode node = box_node({90, 70, 110, 100});
  EXPECT_TRUE(equal_images(annotated(in_pixels, node), annotated(in_shares, node)));
}

TEST(ZoneAnnotator, ShowsNoCountsIfTheyAreNotWanted) {
  const DrawnZone zone{.name = "door", .outline = {{50, 50}, {150, 50}, {150, 150}, {50, 150}}};
  ZoneAnnotator zones({.zones = {zone}, .counts = false});
  EXPECT_TRUE(equal_images(annotated(zones, box_node({200, 40, 220, 100})),
                           annotated(zones, box_node({90, 10, 110, 100}))));
}

TEST(ZoneAnnotator, RefusesLinesThatAreNone) {
  EXPECT_THAT(
      [] {
        ZoneAnnotator({.lines = {{.name = "path", .from = {1, 1}, .to = {1, 1}}}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                   HasSubstr("line \"path\" has one point as both ends")));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(ZoneAnnotator({.lines = {{.from = {1, 1}, .to = {infinity, 0}}}}), InvalidArgument);
}

TEST(CounterAnnotator, CountsNodesByTheirNames) {
  CounterAnnotator counters;
  const std::vector<DetectionNode> two{{.name = "person"}, {.name = "person"}};
  const std::vector<DetectionNode> three{{.name = "person"}, {.name = "person"}, {.name = "car"}};
  const cv::Rect small = cv::boundingRect(test::drawn_mask(annotated(counters, two)));
  const cv::Rect large = cv::boundingRect(test::drawn_mask(annotated(counters, three)));
  EXPECT_EQ(small.tl(), cv::Point());
  EXPECT_EQ(large.height, 2 * small.height) << "a line for each name";
  EXPECT_TRUE(is_blank(annotated(counters, std::span<const DetectionNode>())));
}

TEST(CounterAnnotator, ShowsTheCountsThatANodeHas) {
  CounterAnnotator counters;
  const DetectionNode line{.name = "line", .extra_data = {{"line", "door"}, {"in", 3}, {"out", 5}}};
  const DetectionNode later{.name = "line",
                            .extra_data = {{"line", "door"}, {"in", 4}, {"out", 5}}};
  EXPECT_FALSE(equal_images(annotated(counters, line), annotated(counters, later)));
  CounterAnnotator named({.keys = {}});
  EXPECT_TRUE(equal_images(annotated(named, line), annotated(named, later)));
}

TEST(CounterAnnotator, StandsInItsCorner) {
  CounterAnnotator counters({.corner = CounterSettings::Corner::bottom_right});
  const cv::Rect panel =
      cv::boundingRect(test::drawn_mask(annotated(counters, box_node({100, 80, 160, 170}))));
  EXPECT_EQ(panel.br(), cv::Point(320, 240));
}

}  // namespace
}  // namespace vcap
