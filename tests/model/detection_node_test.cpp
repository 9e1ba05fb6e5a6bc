// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/detection_node.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;

DetectionNode person_with_face() {
  return {.name = "person",
          .coords = {{10, 20}, {30, 20}, {30, 60}, {10, 60}},
          .attributes = {{"upper_color", "red"}, {"posture", "standing"}},
          .children = {{.name = "face",
                        .coords = {{14, 22}, {20, 22}, {17, 30}},
                        .attributes = {{"gaze", "left"}, {"upper_color", "blue"}}}}};
}

TEST(DetectionNode, HasTheBoxOfItsPolygonWithoutItsChildren) {
  DetectionNode node = person_with_face();
  node.children[0].coords.push_back({1000, 1000});
  EXPECT_EQ(node.bbox(), (BoundingBox{10, 20, 30, 60}));
}

TEST(DetectionNode, HasNoBoxWithoutCoords) {
  EXPECT_THAT([] { DetectionNode{.name = "scene"}.bbox(); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("\"scene\"")));
}

TEST(DetectionNode, ScalesItselfAndItsChildren) {
  DetectionNode node = person_with_face();
  node.scale(2, 0.5);
  EXPECT_EQ(node.coords, (Coords{{20, 10}, {60, 10}, {60, 30}, {20, 30}}));
  EXPECT_EQ(node.children[0].coords, (Coords{{28, 11}, {40, 11}, {34, 15}}));
}

TEST(DetectionNode, MovesItselfAndItsChildren) {
  DetectionNode node = person_with_face();
  node.offset(-10, 5);
  EXPECT_EQ(node.coords, (Coords{{0, 25}, {20, 25}, {20, 65}, {0, 65}}));
  EXPECT_EQ(node.children[0].coords, (Coords{{4, 27}, {10, 27}, {7, 35}}));
}

TEST(DetectionNode, GathersTheAttributesOfTheWholeTree) {
  const std::map<std::string, std::set<std::string>> expected{
      {"gaze", {"left"}}, {"posture", {"standing"}}, {"upper_color", {"blue", "red"}}};
  EXPECT_EQ(person_with_face().all_attributes(), expected);
}

TEST(DetectionNode, TakesItsConfidenceFromTheFirstKeyThatIsANumber) {
  const struct {
    json extra_data;
    std::optional<double> confidence;
  } cases[] = {
      {json::object(), std::nullopt},
      {{{"confidence", 0.25}}, 0.25},
      {{{"detection_confidence", 0.75}}, 0.75},
      {{{"detection_confidence", 0.75}, {"confidence", 0.25}}, 0.75},
      {{{"detection_confidence", "high"}, {"confidence", 0.25}}, 0.25},
      {{{"detection_confidence", 1}}, 1.0},
      {{{"confidence", true}}, std::nullopt},
      {nullptr, std::nullopt},
      {json::array({0.5}), std::nullopt},
  };
  for (const auto& [extra_data, confidence] : cases) {
    EXPECT_EQ(DetectionNode{.extra_data = extra_data}.confidence(), confidence) << extra_data;
  }
}

TEST(DetectionNode, ComparesEveryMember) {
  const DetectionNode node = person_with_face();
  EXPECT_EQ(node, person_with_face());
  const auto changed = [&](auto change) {
    DetectionNode other = node;
    change(other);
    return other;
  };
  EXPECT_NE(node, changed([](auto& other) { other.name = "car"; }));
  EXPECT_NE(node, changed([](auto& other) { other.coords[0].x = 11; }));
  EXPECT_NE(node, changed([](auto& other) { other.attributes["posture"] = "sitting"; }));
  EXPECT_NE(node, changed([](auto& other) { other.children[0].name = "mask"; }));
  EXPECT_NE(node, changed([](auto& other) { other.encoding.emplace(); }));
  EXPECT_NE(node, changed([](auto& other) { other.track_id = Uuid(); }));
  EXPECT_NE(node, changed([](auto& other) { other.extra_data["key"] = 1; }));
}

}  // namespace
}  // namespace vcap
