// SPDX-License-Identifier: Apache-2.0
#include "capsule/config_schema.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

CapsuleInfo info_with(json schema) {
  CapsuleInfo info = test::detector_info();
  info.config_schema = std::move(schema);
  return info;
}

json counter_schema() {
  return json::parse(R"({
    "type": "object",
    "properties": {
      "line": {"type": "array", "minItems": 2, "maxItems": 2,
               "items": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}}},
      "mode": {"enum": ["in", "out", "both"], "default": "both"},
      "limits": {"type": "object", "default": {"most": 9},
                 "properties": {"least": {"type": "integer", "default": 1},
                                "most": {"type": "integer", "exclusiveMinimum": 0}}},
      "zones": {"type": "array", "items": {"$ref": "#/definitions/zone"}}},
    "required": ["line"],
    "additionalProperties": false,
    "definitions": {"zone": {"type": "object", "required": ["name"],
                             "properties": {"name": {"type": "string", "minLength": 1},
                                            "open": {"type": "boolean", "default": true}}}}})");
}

json line() { return json::parse("[[0, 0.5], [1, 0.5]]"); }

struct WrongConfig {
  std::string name;
  json config;
  std::vector<std::string> complaints;
};

class RefusedConfig : public testing::TestWithParam<WrongConfig> {};

TEST_P(RefusedConfig, IsReportedWithPointerValueAndWhatIsAllowed) {
  const CapsuleInfo info = info_with(counter_schema());

  const auto error = test::error_of<InvalidArgument>(
      [&] { (void)detail::completed_config(info, GetParam().config); });

  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_THAT(error.what(), HasSubstr("the config of capsule detector_fake"));
  for (const std::string& complaint : GetParam().complaints)
    EXPECT_THAT(error.what(), HasSubstr(complaint));
}

INSTANTIATE_TEST_SUITE_P(
    ConfigSchema, RefusedConfig,
    testing::Values(
        WrongConfig{"NoObject", json::array(), {"is of JSON type array; give an object"}},
        WrongConfig{"Missing", json::object(), {"/line is missing, but an array of 2"}},
        WrongConfig{"Unknown",
                    {{"line", line()}, {"lines", 1}},
                    {"/lines is 1, but the schema does not allow anything there"}},
        WrongConfig{"DeepNumber",
                    {{"line", {{0, 7}, {1, 1}}}},
                    {"/line/0/1 is 7, but a number from 0 to 1 is needed"}},
        WrongConfig{"DeepText",
                    {{"line", {{0, 0}, {1, "x"}}}},
                    {"/line/1/1 is \"x\", but a number from 0 to 1 is needed"}},
        WrongConfig{"TooShort", {{"line", {{0, 0}}}}, {"/line is an array of 1: array should"}},
        WrongConfig{"WrongType",
                    {{"line", json::object()}},
                    {"/line is an object, but an array of 2, each an array, each a number"}},
        WrongConfig{"Choice",
                    {{"line", line()}, {"mode", "up"}},
                    {R"(/mode is "up", but "in", "out" or "both" is needed)"}},
        WrongConfig{"Fraction",
                    {{"line", line()}, {"limits", {{"least", 1.5}}}},
                    {"/limits/least is 1.5, but a whole number is needed"}},
        WrongConfig{"Exclusive",
                    {{"line", line()}, {"limits", {{"most", 0}}}},
                    {"/limits/most is 0, but a whole number above 0 is needed"}},
        WrongConfig{"ThroughAReference",
                    {{"line", line()}, {"zones", {{{"name", ""}}, json::object()}}},
                    {"/zones/0/name is \"\", but a string of at least 1 character is needed",
                     "/zones/1/name is missing, but a string of at least 1 character is needed"}},
        WrongConfig{"SeveralAtOnce",
                    {{"mode", 3}, {"zones", 4}, {"a/b", 5}},
                    {"/line is missing, but an array of 2", "/mode is 3",
                     "/zones is 4, but an array", "/a~1b is 5"}}),
    [](const auto& test_info) { return test_info.param.name; });

TEST(ConfigSchema, FillsDefaultsInAtEveryDepthOfObjects) {
  const CapsuleInfo info = info_with(counter_schema());

  EXPECT_EQ(detail::completed_config(info, {{"line", line()}}),
            json({{"line", line()}, {"mode", "both"}, {"limits", {{"least", 1}, {"most", 9}}}}));
  const json given = {{"line", line()},
                      {"mode", "in"},
                      {"limits", {{"least", 3}}},
                      {"zones", {{{"name", "a"}}, {{"name", "b"}, {"open", false}}}}};
  json expected = given;
  expected["zones"][0]["open"] = true;
  EXPECT_EQ(detail::completed_config(info, given), expected);
}

TEST(ConfigSchema, ReportsTheFirstTwentyErrors) {
  const CapsuleInfo info = info_with({{"additionalProperties", {{"type", "string"}}}});
  json config = json::object();
  for (int i = 100; i < 130; ++i) config["key" + std::to_string(i)] = i;

  const auto error =
      test::error_of<InvalidArgument>([&] { (void)detail::completed_config(info, config); });

  EXPECT_THAT(error.what(), AllOf(HasSubstr("/key100 is 100"), HasSubstr("/key119 is 119"),
                                  Not(HasSubstr("/key120")), EndsWith("; and more")));
}

TEST(ConfigSchema, AcceptsAnyObjectWhenItIsAbsent) {
  const json config = {{"anything", {1, "x", nullptr}}};
  EXPECT_EQ(detail::completed_config(test::detector_info(), config), config);
}

TEST(ConfigSchema, NamesTheStreamInErrorsOfItsConfig) {
  CapsuleInfo info = test::detector_info();
  info.stream_state = make_stream_state<BaseStreamState>();
  info.stream_config_schema = counter_schema();

  const auto error = test::error_of<InvalidArgument>(
      [&] { (void)detail::completed_stream_config(info, json::object(), "door"); });

  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_THAT(error.what(), HasSubstr("stream door's config of capsule detector_fake: "));
}

TEST(ConfigSchema, RefusesAStreamConfigForACapsuleWithoutStateAndParameters) {
  const CapsuleInfo info = test::detector_info();

  EXPECT_EQ(detail::completed_stream_config(info, json::object(), "a"), json::object());
  const auto error = test::error_of<InvalidArgument>([&] {
    (void)detail::completed_stream_config(info, {{"zone", 1}}, "a");
  });
  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_THAT(error.what(),
              HasSubstr("has neither a stream state nor stream parameters that could use it"));
}

struct WrongSchema {
  std::string name;
  std::string schema;
  std::string complaint;
};

class RefusedSchema : public testing::TestWithParam<WrongSchema> {};

TEST_P(RefusedSchema, IsReportedByItsPlace) {
  const CapsuleInfo info = info_with(json::parse(GetParam().schema));

  const auto error = test::error_of<InvalidCapsuleError>([&] { check(info); });

  EXPECT_EQ(error.code(), ErrorCode::invalid_capsule_info);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("capsule detector_fake: /config_schema"),
                                  HasSubstr(GetParam().complaint)));
}

std::string doubling(int levels) {
  std::string text = R"({"properties": {"a": {"$ref": "#/definitions/d0"}}, "definitions": {)";
  for (int i = 0; i < levels; ++i) {
    const std::string next = R"({"$ref": "#/definitions/d)" + std::to_string(i + 1) + "\"}";
    text += "\"d" + std::to_string(i) + R"(": {"allOf": [)" + next + ", " + next + "]}, ";
  }
  return text + "\"d" + std::to_string(levels) + R"(": {}}})";
}

std::string long_enum() {
  json values = json::array();
  for (int i = 0; i < 3000; ++i) values.push_back(i);
  return json{{"properties", {{"a", {{"enum", values}}}}}}.dump();
}

INSTANTIATE_TEST_SUITE_P(
    ConfigSchema, RefusedSchema,
    testing::Values(
        WrongSchema{"NoObject", "true",
                    "/config_schema: an object that is a JSON Schema is needed"},
        WrongSchema{"TakesNoObject", R"({"type": "array"})", "/config_schema/type: \"object\""},
        WrongSchema{"BoundAText", R"({"properties": {"a": {"minimum": "1"}}})",
                    "/config_schema/properties/a/minimum: a number is needed, but it is \"1\""},
        WrongSchema{"NegativeCount", R"({"minProperties": -1})",
                    "/config_schema/minProperties: a whole number from 0"},
        WrongSchema{"UnknownType", R"({"properties": {"a": {"type": "float"}}})",
                    "/config_schema/properties/a/type: one of \"object\""},
        WrongSchema{"NoAlternative", R"({"anyOf": []})", "/config_schema/anyOf: an array of one"},
        WrongSchema{"Misspelt", R"({"requred": ["a"]})",
                    "/config_schema/requred: vcap does not support the keyword \"requred\"; did "
                    "you mean \"required\"?"},
        WrongSchema{
            "RegularExpression",
            R"({"properties": {"a": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}})",
            "/config_schema/properties/a/pattern: vcap does not support the keyword \"pattern\""},
        WrongSchema{"RegularExpressionOfNames", R"({"patternProperties": {"(a*)*b": {}}})",
                    "the keyword \"patternProperties\""},
        WrongSchema{"UnknownShape", R"({"properties": {"a": {"format": "circle"}}})",
                    "/config_schema/properties/a/format: one of \"line\", \"polygon\""},
        WrongSchema{"ReferenceToAFile", R"({"properties": {"a": {"$ref": "other.json"}}})",
                    "/config_schema/properties/a/$ref: a place in the same schema"},
        WrongSchema{"ReferenceToAHost", R"({"$ref": "https://schemas.example/a"})",
                    "but it is \"https://schemas.example/a\""},
        WrongSchema{"ReferenceToNothing", R"({"properties": {"a": {"$ref": "#/definitions/a"}}})",
                    "\"#/definitions/a\" does not exist in the schema"},
        WrongSchema{"ReferenceToNoPointer", R"({"properties": {"a": {"$ref": "#a"}}})",
                    "\"#a\" does not exist in the schema"},
        WrongSchema{"ReferenceToItself", R"({"properties": {"a": {"$ref": "#"}}})",
                    "a schema cannot refer to itself"},
        WrongSchema{"ReferenceToTheReference",
                    R"({"properties": {"a": {"$ref": "#/properties/a"}}})",
                    "a schema cannot refer to itself"},
        WrongSchema{"ReferencesThatDouble", doubling(10), "has more than 2048 values"},
        WrongSchema{"TooManyValues", long_enum(), "has more than 2048 values"},
        WrongSchema{"WrongDefault", R"({"properties": {"a": {"type": "integer", "default": "x"}}})",
                    "/config_schema/properties/a/default does not fit the schema around it: it is "
                    "\"x\", but a whole number is needed"},
        WrongSchema{
            "WrongDefaultWithin",
            R"({"properties": {"a": {"default": {"b": 5},
                        "properties": {"b": {"maximum": 3}}}}})",
            "/config_schema/properties/a/default does not fit the schema around it: /b is 5"},
        WrongSchema{"WrongDefaultBehindAReference",
                    R"({"properties": {"a": {"$ref": "#/definitions/a"}},
                        "definitions": {"a": {"enum": [1], "default": 2}}})",
                    "/config_schema/definitions/a/default does not fit"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST(ConfigSchema, IsAcceptedWhenItIsValid) {
  EXPECT_NO_THROW(check(info_with(counter_schema())));
  EXPECT_NO_THROW(check(info_with(json::object())));
}

TEST(ConfigSchema, NeedsAStreamStateForAStreamConfig) {
  CapsuleInfo info = test::detector_info();
  info.stream_config_schema = json::object();

  const auto error = test::error_of<InvalidCapsuleError>([&] { check(info); });

  EXPECT_THAT(error.what(), HasSubstr("there is no stream_state that could get a config"));
}

/// Whether vcap accepts the value, as the only property of a config.
bool takes(const json& schema, const json& value) {
  const CapsuleInfo info = info_with({{"properties", {{"value", schema}}}});
  try {
    (void)detail::completed_config(info, {{"value", value}});
    return true;
  } catch (const InvalidArgument& error) {
    if (error.code() != ErrorCode::invalid_config) throw;
    return false;
  }
}

/// Whether the schema has keywords that vcap refuses, or references to other documents.
bool uses_others(const std::string& schema) {
  return std::ranges::any_of(
      std::array{"\"multipleOf\"", "\"pattern", "\"propertyNames\"", "\"$id\"", "http"},
      [&](const char* other) { return schema.find(other) != std::string::npos; });
}

/// The suite of the makers of JSON Schema: every case with keywords that vcap accepts.
TEST(ConfigSchema, PassesTheJsonSchemaTestSuite) {
  // The suite allows defaults that do not fit.
  const std::set<std::string> others{
      "default",           "multipleOf",    "pattern",
      "patternProperties", "propertyNames", "ref"};  // "ref": for schemas that refer to themselves
  int cases = 0;
  for (const auto& file : std::filesystem::directory_iterator(VCAP_SCHEMA_SUITE)) {
    if (!file.is_regular_file() || others.contains(file.path().stem().string())) continue;
    for (const json& group : json::parse(std::ifstream(file.path()))) {
      if (uses_others(group["schema"].dump())) continue;
      for (const json& one : group["tests"]) {
        ++cases;
        EXPECT_EQ(takes(group["schema"], one["data"]), one["valid"].get<bool>())
            << file.path() << ": " << group["description"] << ": " << one["description"];
      }
    }
  }
  EXPECT_GT(cases, 300);
}

}  // namespace
}  // namespace vcap
