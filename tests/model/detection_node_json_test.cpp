// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "support/throws_error.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {
namespace {

using nlohmann::json;

DetectionNode read(std::string_view text) { return json::parse(text).get<DetectionNode>(); }

TEST(DetectionNodeJson, HasTheFormOfObjectsInRecords) {
  const DetectionNode node{.name = "person",
                           .coords = {{1, 2}, {4, 2}, {4, 6}},
                           .attributes = {{"upper_color", "red"}},
                           .children = {{.name = "face"}},
                           .encoding = {{0.5f, -1.0f}},
                           .track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6"),
                           .extra_data = {{"detection_confidence", 0.75}, {"model", "hog"}}};
  EXPECT_EQ(json(node), json::parse(R"({
    "name": "person",
    "bbox": {"x": 1, "y": 2, "w": 3, "h": 4},
    "coords": [[1, 2], [4, 2], [4, 6]],
    "attributes": {"upper_color": "red"},
    "track_id": "f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
    "confidence": 0.75,
    "encoding": [0.5, -1],
    "extra_data": {"detection_confidence": 0.75, "model": "hog"},
    "children": [{"name": "face"}]})"));
}

TEST(DetectionNodeJson, LeavesOutAbsentFields) {
  EXPECT_EQ(json(DetectionNode{.name = "scene"}).dump(), R"({"name":"scene"})");
  DetectionNode moved_from{.name = "scene"};
  const json taken = *std::move(moved_from.extra_data);
  EXPECT_EQ(json(moved_from).dump(), R"({"name":"scene"})");
}

TEST(DetectionNodeJson, DistinguishesAnEmptyEncodingFromNone) {
  const DetectionNode node{.name = "person", .encoding = std::vector<float>{}};
  EXPECT_EQ(json(node).dump(), R"({"encoding":[],"name":"person"})");
  EXPECT_EQ(json(node).get<DetectionNode>(), node);
}

TEST(DetectionNodeJson, WritesAnEncodingInTheFewestDigits) {
  const DetectionNode node{.name = "p", .encoding = {{0.1f, 1.0f / 3, 16777216.0f, 1e-40f}}};
  EXPECT_EQ(json(node)["encoding"].dump(), "[0.1,0.33333334,16777216.0,1e-40]");
}

TEST(DetectionNodeJson, KeepsEveryFiniteFloatExactly) {
  std::mt19937 engine(7);
  DetectionNode node{.name = "p", .encoding = std::vector<float>{}};
  while (node.encoding->size() < 50'000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    if (std::isfinite(value)) node.encoding->push_back(value);
  }
  node.encoding->push_back(std::numeric_limits<float>::max());
  node.encoding->push_back(std::numeric_limits<float>::lowest());
  node.encoding->push_back(std::numeric_limits<float>::denorm_min());
  node.encoding->push_back(-0.0f);
  const DetectionNode back = read(json(node).dump());
  ASSERT_EQ(back.encoding->size(), node.encoding->size());
  for (std::size_t i = 0; i < node.encoding->size(); ++i) {
    // Compares the bits, because 0 and -0 are equal.
    ASSERT_EQ(std::bit_cast<std::uint32_t>((*back.encoding)[i]),
              std::bit_cast<std::uint32_t>((*node.encoding)[i]))
        << i;
  }
}

/// Makes random nodes that JSON can hold. The same seed gives the same nodes.
class NodeGenerator {
 public:
  explicit NodeGenerator(std::uint64_t seed) : engine_(seed) {}

  DetectionNode node(int levels = 3) {
    DetectionNode node{.name = text()};
    for (int i = below(5); i > 0; --i) node.coords.emplace_back(number(), number());
    for (int i = below(3); i > 0; --i) node.attributes[text()] = text();
    if (below(2) == 0) {
      auto& encoding = node.encoding.emplace();
      for (int i = below(4); i > 0; --i) encoding.push_back(static_cast<float>(below(1000)) / 7);
    }
    if (below(2) == 0) node.track_id = Uuid::random(engine_);
    for (int i = below(3); i > 0; --i) node.extra_data[text()] = anything(2);
    for (int i = levels > 0 ? below(3) : 0; i > 0; --i)
      node.children.push_back(this->node(levels - 1));
    return node;
  }

 private:
  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(engine_); }

  /// A random finite double, which may be subnormal, huge or -0.
  double number() {
    for (;;) {
      const auto value = std::bit_cast<double>(static_cast<std::uint64_t>(engine_()));
      if (std::isfinite(value)) return value;
    }
  }

  std::string text() {
    static const std::vector<std::string> pieces = {
        "a",    "Z",    " ", "\"", "\\", "/",  "~",   "\n",   "\t",          std::string(1, '\0'),
        "\x1f", "\x7f", "ü", "€",  "😀",  "{}", "[0]", "null", "\xEF\xBF\xBF"};
    std::string text;
    for (int i = below(6); i > 0; --i)
      text += pieces[static_cast<std::size_t>(below(static_cast<int>(pieces.size())))];
    return text;
  }

  json anything(int levels) {
    switch (below(levels > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(engine_());
      case 3:
        return static_cast<std::uint64_t>(engine_());
      case 4:
        return number();
      case 5:
        return text();
      case 6: {
        json list = json::array();
        for (int i = below(4); i > 0; --i) list.push_back(anything(levels - 1));
        return list;
      }
      default: {
        json object = json::object();
        for (int i = below(4); i > 0; --i) object[text()] = anything(levels - 1);
        return object;
      }
    }
  }

  std::mt19937_64 engine_;
};

TEST(DetectionNodeJson, KeepsAnyNodeExactly) {
  NodeGenerator generate(11);
  for (int i = 0; i < 2000; ++i) {
    const DetectionNode node = generate.node();
    const std::string text = json(node).dump();
    ASSERT_EQ(read(text), node) << text;
  }
}

TEST(DetectionNodeJson, DoesNotReadDerivedFields) {
  const DetectionNode node =
      read(R"({"name":"a","coords":[[1,2]],"bbox":"no box","confidence":[]})");
  EXPECT_EQ(node, (DetectionNode{.name = "a", .coords = {{1, 2}}}));
}

TEST(DetectionNodeJson, IgnoresUnknownFields) {
  EXPECT_EQ(read(R"({"name":"a","mask":[1,2]})"), (DetectionNode{.name = "a"}));
}

TEST(DetectionNodeJson, NamesTheWrongFieldByItsPointer) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"[]", "an object is needed, but it is an array of 0"},
      {"{}", R"(the field "name" is missing)"},
      {R"({"name":7})", "/name: a string is needed, but it is 7"},
      {R"({"name":"a","coords":{}})", "/coords: an array is needed, but it is an object"},
      {R"({"name":"a","coords":[[1,2],[3]]})",
       "/coords/1: a point [x, y] is needed, but it is an array of 1"},
      {R"({"name":"a","coords":[[1,null]]})", "/coords/0/1: a number is needed, but it is null"},
      {R"({"name":"a","attributes":["red"]})",
       "/attributes: an object is needed, but it is an array of 1"},
      {R"({"name":"a","attributes":{"upper/color":true}})",
       "/attributes/upper~1color: a string is needed, but it is true"},
      {R"({"name":"a","track_id":5})", "/track_id: a string is needed, but it is 5"},
      {R"({"name":"a","track_id":"me"})",
       R"(/track_id: "me" is not a UUID; it must be 32 hexadecimal digits in groups of 8-4-4-4-12)"},
      {R"({"name":"a","encoding":null})", "/encoding: an array is needed, but it is null"},
      {R"({"name":"a","encoding":[0,"x"]})", R"(/encoding/1: a number is needed, but it is "x")"},
      {R"({"name":"a","encoding":[1e39]})",
       "/encoding/0: a number that fits a 32-bit float is needed, but it is 1e+39"},
      {R"({"name":"a","extra_data":[]})",
       "/extra_data: an object is needed, but it is an array of 0"},
      {R"({"name":"a","children":[{"name":"b"},{"name":"c","children":[{}]}]})",
       R"(/children/1/children/0: the field "name" is missing)"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT([&text = text] { read(text); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, message))
        << text;
  }
}

TEST(DetectionNodeJson, LeavesTheNodeUnchangedWhenItIsRefused) {
  DetectionNode node{.name = "before"};
  EXPECT_THROW(from_json(json::parse(R"({"name":"after","coords":0})"), node), InvalidArgument);
  EXPECT_EQ(node, (DetectionNode{.name = "before"}));
}

std::string nested(int levels) {
  std::string text;
  for (int i = 1; i < levels; ++i) text += R"({"name":"a","children":[)";
  text += R"({"name":"a"})";
  for (int i = 1; i < levels; ++i) text += "]}";
  return text;
}

TEST(DetectionNodeJson, RefusesNestingThatWouldExhaustTheStack) {
  EXPECT_NO_THROW(read(nested(128)));
  EXPECT_THAT([] { read(nested(129)); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json,
                                           testing::HasSubstr("more than 128 levels deep")));
  EXPECT_THROW(read(nested(100'000)), InvalidArgument);
}

TEST(DetectionNodeJson, WritesTextThatIsNotUtf8WhenTheWriterReplacesIt) {
  const json written = DetectionNode{.name = "caf\xE9", .attributes = {{"\xFF", "\xC3"}}};
  EXPECT_EQ(written.dump(-1, ' ', false, json::error_handler_t::replace),
            R"({"attributes":{"�":"�"},"name":"caf�"})");
}

TEST(DetectionNodeJson, WritesNumbersThatAreNotFiniteAsNull) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const json written = DetectionNode{.name = "a", .coords = {{nan, 1}}, .encoding = {{infinity}}};
  EXPECT_EQ(written["coords"].dump(), "[[null,1.0]]");
  EXPECT_EQ(written["encoding"].dump(), "[null]");
  EXPECT_THAT(
      [&] { written.get<DetectionNode>(); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_json,
                                   "/coords/0/0: a finite number is needed, but it is NaN"));
}

}  // namespace
}  // namespace vcap
