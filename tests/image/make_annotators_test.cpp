// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/make_annotators.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "image/annotator_canvas.hpp"
#include "support/throws_error.hpp"
#include "vcap/image/draw_nodes.hpp"

namespace vcap {
namespace {

using test::annotated;
using test::box_node;
using test::equal_images;
using test::is_blank;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A zone on the left, a line on the right.
ZoneSettings two_zones() {
  return {.zones = {{.name = "door", .outline = {{20, 60}, {120, 60}, {120, 160}, {20, 160}}}},
          .lines = {{.name = "path", .from = {200, 60}, .to = {200, 160}}}};
}

TEST(MakeAnnotators, MakesTheDefaultStyleOfDrawNodes) {
  DetectionNode person = box_node({100, 80, 160, 170});
  person.attributes["color"] = "red";
  person.children = {{.name = "sail", .coords = {{50, 50}, {150, 50}, {50, 150}}}};
  cv::Mat expected = test::canvas();
  draw_nodes(expected, std::span(&person, 1));
  EXPECT_TRUE(equal_images(annotated(*make_annotators(kDefaultAnnotators), person), expected));
}

TEST(MakeAnnotators, MakesEveryPartThatItNames) {
  for (const AnnotatorName& part : annotator_names()) {
    EXPECT_FALSE(part.description.empty());
    const std::string list = part.name == "label-map" ? "label-map:mask" : part.name;
    const auto parts = make_annotators(list, {}, two_zones());
    DetectionNode person = box_node({100, 80, 160, 170});
    person.track_id = test::track(1);
    person.keypoints = {{.name = "nose", .point = {120, 90}}};
    Frame frame;
    frame.pictures.set("mask", cv::Mat(240, 320, CV_8UC1, cv::Scalar(1)));
    cv::Mat image(240, 320, CV_8UC3);
    cv::randu(image, 0, 255);
    const cv::Mat before = image.clone();
    parts->annotate(image, std::span(&person, 1), frame);
    person.coords = rect_to_coords(BoundingBox{200, 90, 250, 180});
    frame.pts = std::chrono::seconds(1);
    parts->annotate(image, std::span(&person, 1), frame);
    EXPECT_FALSE(equal_images(image, before)) << list;
  }
}

TEST(MakeAnnotators, DrawsOnlyTheNodesAfterTheColon) {
  const auto parts = make_annotators("boxes:face+car,labels:face");
  EXPECT_FALSE(is_blank(annotated(*parts, box_node({100, 80, 160, 170}, "car"))));
  EXPECT_TRUE(is_blank(annotated(*parts, box_node({100, 80, 160, 170}, "person"))));
}

TEST(MakeAnnotators, DrawsBoxesAsPolygonsIfNoPartDrawsBoxes) {
  const DetectionNode node = box_node({100, 80, 160, 170});
  EXPECT_FALSE(is_blank(annotated(*make_annotators("polygons"), node)));
  EXPECT_TRUE(equal_images(annotated(*make_annotators("corners,polygons"), node),
                           annotated(*make_annotators("corners"), node)));
}

TEST(MakeAnnotators, DrawsZonesAndLinesByTheirNames) {
  const auto drawn = [](const char* list) {
    return annotated(*make_annotators(list, {.names = {"person"}}, two_zones()),
                     box_node({250, 180, 300, 230}));
  };
  ZoneAnnotator all(two_zones());
  EXPECT_TRUE(equal_images(drawn("zones"), annotated(all, box_node({250, 180, 300, 230}))));
  const cv::Mat path = drawn("zones:path");
  EXPECT_EQ(test::color_at(path, 60, 140), test::kCanvasColor);
  EXPECT_NE(test::color_at(path, 200, 140), test::kCanvasColor);
  const cv::Mat door = drawn("zones:door+exit");
  EXPECT_NE(test::color_at(door, 60, 140), test::kCanvasColor);
  EXPECT_EQ(test::color_at(door, 200, 140), test::kCanvasColor);
  EXPECT_TRUE(is_blank(drawn("zones:exit")));
}

TEST(MakeAnnotators, RefusesZonesIfThereAreNone) {
  EXPECT_THAT([] { make_annotators("boxes,zones"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("part \"zones\" draws zones and lines")));
  EXPECT_TRUE(is_blank(
      annotated(*make_annotators("zones", {}, ZoneSettings{}), box_node({100, 80, 160, 170}))))
      << "a stream whose rules have no zones";
}

TEST(MakeAnnotators, NamesThePicturesOfItsParts) {
  EXPECT_THAT(make_annotators("label-map:ground,boxes")->pictures(), ElementsAre("ground"));
}

TEST(MakeAnnotators, NamesTheNearestAndAllKnownPartsIfOneIsUnknown) {
  EXPECT_THAT([] { make_annotators("boxes,trail"); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_argument,
                  AllOf(HasSubstr("part \"trail\" is not known; did you mean \"trails\"?"),
                        HasSubstr("known: \"blur\", \"boxes\""), HasSubstr("\"zones\")"))));
}

TEST(MakeAnnotators, RefusesListsThatAreNoLists) {
  for (const char* list : {"", ",", "boxes,", ",boxes", "boxes:", "boxes:a++b", "label-map",
                           "label-map:a+b", ":face", "Boxes", " boxes", "boxes;labels"})
    EXPECT_THROW(make_annotators(list), InvalidArgument) << list;
}

}  // namespace
}  // namespace vcap
