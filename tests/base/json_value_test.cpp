// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/json_value.hpp"

#include <gmock/gmock.h>

#include <array>
#include <limits>
#include <map>
#include <sstream>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

namespace vcap::test {
namespace {

using nlohmann::json;

struct Form {
  JsonValue value;
  json expected;
};

TEST(JsonValue, TakesTheValuesAndBracesOfJson) {
  const std::vector<Form> forms = {
      {},
      {nullptr, nullptr},
      {true, true},
      {-3, -3},
      {std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max()},
      {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min()},
      {0.25f, 0.25},
      {"text", "text"},
      {std::string("text"), "text"},
      {std::string_view("text"), "text"},
      {JsonValue{{"a", 1}, {"b", "c"}}, json{{"a", 1}, {"b", "c"}}},
      {JsonValue{{"a", 1}, {"a", 2}}, json{{"a", 1}, {"a", 2}}},
      {JsonValue{{"a", {{"b", {1, 2.5, nullptr}}}}}, json{{"a", {{"b", {1, 2.5, nullptr}}}}}},
      {JsonValue{1, 2, 3}, json{1, 2, 3}},
      {JsonValue{"a", 1}, json{"a", 1}},
      {JsonValue{{"a", 1}, 2}, json{{"a", 1}, 2}},
      {JsonValue{{"a", 1, 2}}, json{{"a", 1, 2}}},
      {JsonValue{{1, 2}}, json{{1, 2}}},
      {JsonValue::array(), json::array()},
      {JsonValue::object(), json::object()},
      {std::vector<int>{1, 2}, json::array({1, 2})},
      {std::array<double, 2>{0.5, 1}, json::array({0.5, 1.0})},
      {std::map<std::string, int>{{"a", 1}}, {{"a", 1}}},
  };
  for (const Form& form : forms) {
    EXPECT_EQ(form.value, form.expected);
    EXPECT_EQ(form.value->type(), form.expected.type());
  }
}

TEST(JsonValue, IsAssignedBracesAsAMember) {
  struct {
    JsonValue value = JsonValue::object();
  } holder;
  holder.value = {{"confidence", 0.5}, {"boxes", {1, 2}}};
  EXPECT_EQ(holder.value, (json{{"confidence", 0.5}, {"boxes", {1, 2}}}));
  holder.value = {};
  EXPECT_TRUE(holder.value->is_null());
}

TEST(JsonValue, GivesAndTakesJson) {
  const json given = {{"a", {1, 2}}};
  JsonValue value = given;
  const json& seen = value;
  EXPECT_EQ(seen, given);
  json copy = value;
  EXPECT_EQ(copy, given);
  EXPECT_EQ((json{{"outer", value}}), (json{{"outer", given}}));
  json& changed = value;
  changed["a"] = 3;
  EXPECT_EQ(value, (json{{"a", 3}}));
}

TEST(JsonValue, OfATemporaryGivesAValue) {
  const auto make = [] { return JsonValue{{"a", 1}, {"b", 2}}; };
  int sum = 0;
  for (const json& member : *make()) sum += member.get<int>();
  EXPECT_EQ(sum, 3);
  const json& kept = *make();
  EXPECT_EQ(kept, (json{{"a", 1}, {"b", 2}}));
  static_assert(!std::is_convertible_v<JsonValue, const json&>, "it would refer to the temporary");
  static_assert(std::is_convertible_v<const JsonValue&, const json&>);
  const json direct = *make();
  EXPECT_EQ(direct, kept);
  json list = json::array();
  list.push_back(*make());
  EXPECT_EQ(list, json::array({kept}));
}

TEST(JsonValue, ReadsAndChangesMembers) {
  JsonValue value = JsonValue::object();
  EXPECT_TRUE(value.empty());
  value["score"] = 0.5;
  value["name"] = "a";
  const JsonValue& fixed = value;
  EXPECT_EQ(fixed.size(), 2u);
  EXPECT_EQ(fixed["name"], "a");
  EXPECT_EQ(fixed.at("score").get<double>(), 0.5);
  EXPECT_EQ(fixed.value("none", 7), 7);
  EXPECT_TRUE(fixed.contains("name"));
  EXPECT_THROW(fixed.at("none"), json::out_of_range);
  EXPECT_EQ((fixed.get<std::map<std::string, json>>().size()), 2u);
  std::string keys;
  for (const auto& [key, member] : fixed.items()) keys += key + ",";
  EXPECT_EQ(keys, "name,score,");
  value.at("name") = nullptr;
  EXPECT_TRUE(fixed["name"].is_null());
  value.erase("name");
  EXPECT_EQ(fixed.size(), 1u);
  EXPECT_TRUE(fixed.is_object());
  EXPECT_FALSE(fixed.is_null());
}

TEST(JsonValue, CopiesAreIndependentAndAMovedOneIsNull) {
  JsonValue first = {{"a", 1}};
  JsonValue copy = first;
  copy["a"] = 2;
  EXPECT_EQ(first, (json{{"a", 1}}));
  const JsonValue moved = std::move(first);
  EXPECT_EQ(moved, (json{{"a", 1}}));
  EXPECT_TRUE(first->is_null());
  first = copy;
  EXPECT_EQ(first, copy);
  first = std::move(copy);
  EXPECT_EQ(first, (json{{"a", 2}}));
  EXPECT_NE(first, moved);
}

TEST(JsonValue, IsComparedWithOtherTypes) {
  EXPECT_EQ(JsonValue("a"), "a");
  EXPECT_EQ(JsonValue("a"), std::string("a"));
  EXPECT_EQ(3, JsonValue(3));
  EXPECT_NE(JsonValue(0.5), 0.25);
  EXPECT_EQ(JsonValue(), nullptr);
  EXPECT_NE(JsonValue({1, 2}), (std::vector<int>{1, 3}));
}

TEST(JsonValue, IsWrittenOnOneLine) {
  std::ostringstream out;
  out << JsonValue{{"a", {1, "\xff"}}};
  EXPECT_EQ(out.str(), "{\"a\":[1,\"\xEF\xBF\xBD\"]}");
}

}  // namespace
}  // namespace vcap::test
