// SPDX-License-Identifier: Apache-2.0
#include "records/node_tree.hpp"

#include <gmock/gmock.h>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Nodes = std::vector<DetectionNode>;
using testing::ElementsAre;

DetectionNode node(std::string name, double x = 0, Nodes children = {}) {
  return {.name = std::move(name), .coords = {{x, 0}, {x + 1, 1}}, .children = std::move(children)};
}

NodeDescription of(std::string name) {
  return {.size = NodeDescription::Size::all, .detections = {std::move(name)}};
}

/// The tree in short, such as "person(face face) car".
std::string shape(const Nodes& nodes) {
  std::string text;
  for (const DetectionNode& each : nodes) {
    if (!text.empty()) text += ' ';
    text += each.name;
    if (!each.children.empty()) text += '(' + shape(each.children) + ')';
  }
  return text;
}

TEST(TakenNodes, TakesNodesFromAnywhereWithTheirChildren) {
  Nodes roots{node("person", 0, {node("face", 1, {node("eye")})}), node("car"), node("face", 5)};
  EXPECT_EQ(shape(std::move(TakenNodes(roots, of("face")).copy()).take()), "face(eye) face");
  EXPECT_EQ(shape(roots), "person(face(eye)) car face") << "the tree stays until put_back()";
}

TEST(TakenNodes, TakesANodeBelowAnotherOneOnlyOnce) {
  Nodes roots{node("person", 0, {node("person", 1)})};
  EXPECT_EQ(TakenNodes(roots, of("person")).copy().size(), 1u);
}

TEST(TakenNodes, NamesTheNodesThatAreReplacedAndTheirDeepestLevel) {
  Nodes roots{node("person", 0, {node("face", 1, {node("eye")})}), node("car"), node("face", 5)};
  const TakenNodes taken(roots, of("face"));
  EXPECT_THAT(taken.nodes(), ElementsAre(&roots[0].children[0], &roots[2]));
  EXPECT_EQ(taken.level(), 2u);
  EXPECT_EQ(TakenNodes(roots, of("bike")).level(), 1u);
}

TEST(SingleNodes, ForgetTheResultsOfARound) {
  Nodes roots{node("face", 1), node("person", 0, {node("face", 2)})};
  SingleNodes nodes(roots, of("face"));
  EXPECT_EQ(nodes.level(0, 0), 1u);
  EXPECT_EQ(nodes.level(0, 1), 2u);
  nodes.set(0, 1, {node("smile")});
  EXPECT_THAT(nodes.answered(0), ElementsAre(&roots[1].children[0]));
  nodes.forget(0);
  EXPECT_THAT(nodes.answered(0), testing::IsEmpty());
  nodes.finish(0);
  EXPECT_EQ(shape(roots), "face person(face)");
}

TEST(TakenNodes, PutsNodesBackInTheReturnedOrderInThePlaceOfTheFirst) {
  Nodes roots{node("car"), node("person", 1), node("dog"), node("person", 2)};
  TakenNodes taken(roots, of("person"));
  std::move(taken).put_back({node("c"), node("b"), node("a")});
  EXPECT_EQ(shape(roots), "car c b a dog");
}

TEST(TakenNodes, RemovesNodesThatAreNotReturned) {
  Nodes roots{node("car"), node("person", 1), node("dog")};
  TakenNodes(roots, of("person")).put_back({});
  EXPECT_EQ(shape(roots), "car dog");
}

TEST(TakenNodes, AddsToTheRootsIfNoNodeWasTaken) {
  Nodes roots{node("car")};
  TakenNodes(roots, of("person")).put_back({node("person")});
  EXPECT_EQ(shape(roots), "car person");
}

TEST(TakenNodes, PutsNodesBackUnderTheirOwnParents) {
  Nodes roots{node("person", 0, {node("face", 1), node("face", 2)}),
              node("person", 5, {node("face", 6)})};
  TakenNodes taken(roots, of("face"));
  Nodes returned = std::move(taken.copy()).take();
  std::swap(returned[0], returned[2]);  // now 6, 2, 1
  returned.erase(returned.begin() + 1);
  returned.push_back(node("face", 9));
  for (DetectionNode& each : returned) each.attributes["seen"] = "yes";
  std::move(taken).put_back(std::move(returned));
  EXPECT_EQ(shape(roots), "person(face) person(face) face");
  EXPECT_EQ(roots[0].children[0].coords[0].x, 1);
  EXPECT_EQ(roots[0].children[0].attributes.at("seen"), "yes");
  EXPECT_EQ(roots[1].children[0].coords[0].x, 6);
  EXPECT_EQ(roots[2].coords[0].x, 9);
}

TEST(SingleNodes, GivesOneCallForEachNodeAtAnyDepth) {
  Nodes roots{node("person", 0, {node("face", 1)}), node("face", 2), node("car")};
  SingleNodes nodes(roots, of("face"));
  ASSERT_EQ(nodes.rounds(), 1u);
  ASSERT_EQ(nodes.calls(0), 2u);
  EXPECT_EQ(nodes.copy(0, 1).node().coords[0].x, 2);
  for (std::size_t i = 0; i < 2; ++i) nodes.set(0, i, {node("seen")});
  nodes.finish(0);
  EXPECT_EQ(shape(roots), "person(seen) seen car");
}

TEST(SingleNodes, CallsAParentWithTheResultsOfItsChildren) {
  Nodes roots{node("part", 0, {node("x", 0, {node("part", 1), node("part", 2)})})};
  SingleNodes nodes(roots, of("part"));
  ASSERT_EQ(nodes.rounds(), 2u);
  nodes.set(0, 0, {node("a"), node("b")});
  nodes.set(0, 1, {});
  nodes.finish(0);
  EXPECT_EQ(shape(nodes.copy(1, 0).node().children), "x(a b)");
  nodes.set(1, 0, {node("top"), node("more")});
  nodes.finish(1);
  EXPECT_EQ(shape(roots), "top more");
}

TEST(SingleNodes, KeepsTheNodeOfACallWithoutAResult) {
  Nodes roots{node("face", 1), node("face", 2), node("face", 3)};
  SingleNodes nodes(roots, of("face"));
  nodes.set(0, 0, {node("a"), node("b")});
  nodes.set(0, 2, {});
  nodes.finish(0);
  EXPECT_EQ(shape(roots), "a b face");
}

TEST(SingleNodes, RefusesAnAttributeOutsideItsList) {
  Nodes roots{node("face", 1)};
  roots[0].attributes["mood"] = "odd";
  NodeDescription description = of("face");
  description.attributes["mood"] = {"glad", "sad"};
  EXPECT_THROW(SingleNodes(roots, description), InvalidArgument);
}

}  // namespace
}  // namespace vcap
