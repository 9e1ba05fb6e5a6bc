// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/node_description.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using Size = NodeDescription::Size;

/// Requires one value of each kind.
NodeDescription everything() {
  return {.size = Size::single,
          .detections = {"person", "cyclist"},
          .attributes = {{"upper_color", {"red", "green"}}, {"posture", {"standing", "sitting"}}},
          .encoded = true,
          .tracked = true,
          .extra_data = {"speed", "heading"}};
}

/// Has a value of each kind, and more.
DetectionNode complete_node() {
  return {.name = "cyclist",
          .attributes = {{"upper_color", "red"}, {"posture", "sitting"}, {"helmet", "yes"}},
          .encoding = {{1.0f}},
          .track_id = Uuid(),
          .extra_data = {{"speed", 3}, {"heading", nullptr}, {"model", "hog"}}};
}

TEST(NodeDescription, DescribesANodeThatHasEverythingAndMore) {
  EXPECT_TRUE(everything().describes(complete_node()));
}

TEST(NodeDescription, DoesNotDescribeANodeThatLacksAField) {
  const auto without = [](auto remove) {
    DetectionNode node = complete_node();
    remove(node);
    return everything().describes(node);
  };
  EXPECT_FALSE(without([](auto& node) { node.name = "car"; }));
  EXPECT_FALSE(without([](auto& node) { node.attributes.erase("posture"); }));
  EXPECT_FALSE(without([](auto& node) { node.encoding.reset(); }));
  EXPECT_FALSE(without([](auto& node) { node.track_id.reset(); }));
  EXPECT_FALSE(without([](auto& node) { node.extra_data.erase("speed"); }));
  EXPECT_FALSE(without([](auto& node) { node.extra_data = nullptr; }));
}

TEST(NodeDescription, DescribesAnyNameWhenItListsNone) {
  EXPECT_TRUE(NodeDescription{}.describes(complete_node()));
  EXPECT_TRUE(NodeDescription{.tracked = true}.describes({.name = "any", .track_id = Uuid()}));
}

TEST(NodeDescription, IgnoresChildren) {
  DetectionNode parent{.name = "group", .children = {complete_node()}};
  EXPECT_FALSE(everything().describes(parent));
}

TEST(NodeDescription, RejectsAnAttributeValueOutsideItsList) {
  DetectionNode node = complete_node();
  node.attributes["upper_color"] = "purple";
  EXPECT_THAT([&] { everything().describes(node); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_node,
                  "node \"cyclist\": attribute \"upper_color\" is \"purple\", which is not one of "
                  "\"red\", \"green\""));
}

TEST(NodeDescription, RejectsAnAttributeValueOutsideItsListWhenFieldsAreMissing) {
  DetectionNode node{.name = "person", .attributes = {{"upper_color", "purple"}}};
  EXPECT_THROW(everything().describes(node), InvalidArgument);
}

TEST(NodeDescription, IgnoresAttributesOfNodesOfAnotherName) {
  EXPECT_FALSE(everything().describes({.name = "car", .attributes = {{"upper_color", "purple"}}}));
}

TEST(NodeDescription, GivesWhatAnotherLacksAsDifference) {
  const NodeDescription input{.size = Size::single,
                              .detections = {"person"},
                              .attributes = {{"upper_color", {"green"}}, {"gaze", {"left"}}},
                              .tracked = true,
                              .extra_data = {"heading"}};
  const NodeDescription expected{
      .size = Size::single,
      .detections = {"cyclist"},
      .attributes = {{"upper_color", {"red"}}, {"posture", {"standing", "sitting"}}},
      .encoded = true,
      .tracked = false,
      .extra_data = {"speed"}};
  EXPECT_EQ(everything().difference(input), expected);
}

TEST(NodeDescription, HasOnlyItsSizeAsDifferenceFromItself) {
  EXPECT_EQ(everything().difference(everything()), NodeDescription{.size = Size::single});
}

TEST(NodeDescription, HasAllOfItselfAsDifferenceFromNothing) {
  EXPECT_EQ(everything().difference({}), everything());
}

TEST(NodeDescription, KeepsItsOrderInADifference) {
  const NodeDescription description{.detections = {"c", "a", "b"}};
  EXPECT_THAT(description.difference({.detections = {"a"}}).detections,
              testing::ElementsAre("c", "b"));
}

TEST(NodeDescription, EqualsAnotherWithListsInAnotherOrder) {
  NodeDescription other = everything();
  std::reverse(other.detections.begin(), other.detections.end());
  std::reverse(other.extra_data.begin(), other.extra_data.end());
  for (auto& [category, values] : other.attributes) std::reverse(values.begin(), values.end());
  EXPECT_EQ(everything(), other);
}

TEST(NodeDescription, EqualsAnotherWithDuplicatesInItsLists) {
  NodeDescription other = everything();
  other.detections.push_back("person");
  EXPECT_EQ(everything(), other);
}

TEST(NodeDescription, ComparesEveryMember) {
  const auto changed = [](auto change) {
    NodeDescription other = everything();
    change(other);
    return other;
  };
  EXPECT_NE(everything(), changed([](auto& other) { other.size = Size::all; }));
  EXPECT_NE(everything(), changed([](auto& other) { other.detections.pop_back(); }));
  EXPECT_NE(everything(), changed([](auto& other) { other.attributes.erase("posture"); }));
  EXPECT_NE(everything(), changed([](auto& other) { other.attributes["posture"] = {"lying"}; }));
  EXPECT_NE(everything(), changed([](auto& other) { other.attributes["gaze"]; }));
  EXPECT_NE(everything(), changed([](auto& other) { other.encoded = false; }));
  EXPECT_NE(everything(), changed([](auto& other) { other.tracked = false; }));
  EXPECT_NE(everything(), changed([](auto& other) { other.extra_data[0] = "weight"; }));
}

TEST(NodeDescriptionJson, HasEveryRequirement) {
  EXPECT_EQ(json(everything()), json::parse(R"({
    "size": "single",
    "detections": ["person", "cyclist"],
    "attributes": {"posture": ["standing", "sitting"], "upper_color": ["red", "green"]},
    "encoded": true,
    "tracked": true,
    "extra_data": ["speed", "heading"]})"));
}

TEST(NodeDescriptionJson, LeavesOutAbsentRequirements) {
  EXPECT_EQ(json(NodeDescription{}).dump(), R"({"size":"none"})");
}

TEST(NodeDescriptionJson, KeepsEveryMemberInOrder) {
  for (const Size size : {Size::none, Size::single, Size::all}) {
    NodeDescription description = everything();
    description.size = size;
    const auto back = json::parse(json(description).dump()).get<NodeDescription>();
    EXPECT_EQ(back, description);
    EXPECT_EQ(back.detections, description.detections);
    EXPECT_EQ(back.attributes, description.attributes);
    EXPECT_EQ(back.extra_data, description.extra_data);
  }
}

TEST(NodeDescriptionJson, NamesTheWrongFieldByItsPointer) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"null", "an object is needed, but it is null"},
      {"{}", R"(the field "size" is missing)"},
      {R"({"size":1})", "/size: a string is needed, but it is 1"},
      {R"({"size":"both"})", R"(/size: "none", "single" or "all" is needed, but it is "both")"},
      {R"({"size":"all","detections":"person"})",
       R"(/detections: an array is needed, but it is "person")"},
      {R"({"size":"all","detections":["a",null]})",
       "/detections/1: a string is needed, but it is null"},
      {R"({"size":"all","attributes":[]})",
       "/attributes: an object is needed, but it is an array of 0"},
      {R"({"size":"all","attributes":{"color":["red",{}]}})",
       "/attributes/color/1: a string is needed, but it is an object"},
      {R"({"size":"all","encoded":"yes"})",
       R"(/encoded: true or false is needed, but it is "yes")"},
      {R"({"size":"all","tracked":0})", "/tracked: true or false is needed, but it is 0"},
      {R"({"size":"all","extra_data":{"a":1}})",
       "/extra_data: an array is needed, but it is an object"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT([&text = text] { json::parse(text).get<NodeDescription>(); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, message))
        << text;
  }
}

}  // namespace
}  // namespace vcap
