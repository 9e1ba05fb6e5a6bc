// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/detection_nodes.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Size = NodeDescription::Size;

const DetectionNode kPerson{.name = "person"};
const DetectionNode kCar{.name = "car"};
const DetectionNodes kNothing;

auto Named(const char* name) { return Field(&DetectionNode::name, name); }

TEST(DetectionNodes, HoldsNothingByDefault) {
  EXPECT_EQ(DetectionNodes(), DetectionNodes::none());
  EXPECT_EQ(DetectionNodes().kind(), Size::none);
  EXPECT_TRUE(DetectionNodes().empty());
}

TEST(DetectionNodes, GivesItsSingleNode) {
  const DetectionNodes nodes = DetectionNodes::single(kPerson);
  EXPECT_EQ(nodes.kind(), Size::single);
  EXPECT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes.node(), kPerson);
}

TEST(DetectionNodes, AllowsChangesOfItsSingleNode) {
  DetectionNodes nodes = DetectionNodes::single(kPerson);
  nodes.node().attributes["upper_color"] = "red";
  EXPECT_EQ(nodes[0].attributes.at("upper_color"), "red");
}

TEST(DetectionNodes, AddsNodesToAList) {
  DetectionNodes nodes = DetectionNodes::all({kPerson});
  nodes.add(kCar);
  EXPECT_EQ(nodes.kind(), Size::all);
  EXPECT_THAT(nodes, ElementsAre(Named("person"), Named("car")));
}

TEST(DetectionNodes, DistinguishesAnEmptyListFromNothing) {
  EXPECT_NE(DetectionNodes::all(), DetectionNodes::none());
  EXPECT_NE(DetectionNodes::all({kPerson}), DetectionNodes::single(kPerson));
}

TEST(DetectionNodes, GivesNoSingleNodeWhenItIsOfAnotherKind) {
  EXPECT_THAT([] { DetectionNodes::all({kPerson}).node(); },
              ThrowsError<TypeMismatch>(ErrorCode::type_mismatch, HasSubstr("a list of nodes")));
  EXPECT_THAT([] { kNothing.node(); },
              ThrowsError<TypeMismatch>(ErrorCode::type_mismatch, HasSubstr("no nodes")));
}

TEST(DetectionNodes, AddsNodesOnlyToAList) {
  DetectionNodes single = DetectionNodes::single(kPerson);
  EXPECT_THAT([&] { single.add(kCar); },
              ThrowsError<TypeMismatch>(ErrorCode::type_mismatch, HasSubstr("a single node")));
  EXPECT_EQ(single, DetectionNodes::single(kPerson));
  DetectionNodes none;
  EXPECT_THAT(
      [&] { none.add(kCar); },
      ThrowsError<TypeMismatch>(ErrorCode::type_mismatch, HasSubstr("DetectionNodes::all()")));
}

TEST(DetectionNodes, RefusesAnIndexBeyondTheLastNode) {
  DetectionNodes nodes = DetectionNodes::all({kPerson, kCar});
  EXPECT_EQ(nodes[1], kCar);
  EXPECT_EQ(std::as_const(nodes)[0], kPerson);
  EXPECT_THAT([&] { nodes[2]; }, ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                                              HasSubstr("no node 2 among 2")));
  EXPECT_THAT([&] { std::as_const(nodes)[2]; },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("no node 2")));
}

TEST(DetectionNodes, HoldsNothingAfterAMove) {
  DetectionNodes first = DetectionNodes::all({kPerson});
  DetectionNodes second = std::move(first);
  EXPECT_EQ(first, DetectionNodes::none());
  EXPECT_THAT(second, SizeIs(1));
  first = std::move(second);
  EXPECT_EQ(second, DetectionNodes::none());
  EXPECT_EQ(first, DetectionNodes::all({kPerson}));
}

TEST(DetectionNodes, SurvivesAssignmentToItself) {
  DetectionNodes nodes = DetectionNodes::all({kPerson});
  DetectionNodes& same = nodes;
  nodes = std::move(same);
  EXPECT_EQ(nodes, DetectionNodes::all({kPerson}));
}

TEST(DetectionNodes, MovesAllItsNodesOut) {
  DetectionNodes nodes = DetectionNodes::single(kPerson);
  EXPECT_THAT(std::move(nodes).take(), ElementsAre(Named("person")));
  EXPECT_EQ(nodes, DetectionNodes::none());
  EXPECT_THAT(DetectionNodes::none().take(), IsEmpty());
}

TEST(DetectionNodesJson, IsNullAnObjectOrAnArray) {
  EXPECT_EQ(json(DetectionNodes::none()).dump(), "null");
  EXPECT_EQ(json(DetectionNodes::single(kPerson)).dump(), R"({"name":"person"})");
  EXPECT_EQ(json(DetectionNodes::all()).dump(), "[]");
  EXPECT_EQ(json(DetectionNodes::all({kPerson, kCar})).dump(),
            R"([{"name":"person"},{"name":"car"}])");
}

TEST(DetectionNodesJson, KeepsEveryKind) {
  for (const DetectionNodes& nodes :
       {DetectionNodes::none(), DetectionNodes::single(kPerson), DetectionNodes::all(),
        DetectionNodes::all({kPerson}), DetectionNodes::all({kPerson, kCar})}) {
    EXPECT_EQ(json(nodes).get<DetectionNodes>(), nodes) << json(nodes);
  }
}

TEST(DetectionNodesJson, NamesTheWrongFieldByItsPointer) {
  EXPECT_THAT(
      [] { json::parse("7").get<DetectionNodes>(); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_json,
                                   "null, a node or an array of nodes is needed, but it is 7"));
  EXPECT_THAT([] { json::parse(R"([{"name":"a"},{"name":1}])").get<DetectionNodes>(); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json,
                                           "/1/name: a string is needed, but it is 1"));
}

}  // namespace
}  // namespace vcap
