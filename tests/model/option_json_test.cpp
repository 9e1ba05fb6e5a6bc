// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "support/throws_error.hpp"
#include "vcap/model/option.hpp"

namespace vcap {
namespace {

using nlohmann::json;

/// An option and its two forms in JSON. The list has each type with every member.
struct Form {
  Option option;
  const char* manifest;
  const char* schema;
};

const Form kForms[] = {
    {FloatOption{.default_value = 0.5, .min = 0.1, .max = 1, .description = "How sure."},
     R"({"kind":"float","default":0.5,"min":0.1,"max":1.0,"description":"How sure."})",
     R"({"type":"number","title":"Scale frame","description":"How sure.","default":0.5,
         "minimum":0.1,"maximum":1.0})"},
    {FloatOption{.default_value = 2}, R"({"kind":"float","default":2.0})",
     R"({"type":"number","title":"Scale frame","default":2.0})"},
    {IntOption{.default_value = 3, .min = 1, .max = 9, .description = "How many."},
     R"({"kind":"int","default":3,"min":1,"max":9,"description":"How many."})",
     R"({"type":"integer","title":"Scale frame","description":"How many.","default":3,
         "minimum":1,"maximum":9})"},
    {BoolOption{.default_value = true, .description = "Whether."},
     R"({"kind":"bool","default":true,"description":"Whether."})",
     R"({"type":"boolean","title":"Scale frame","description":"Whether.","default":true})"},
    {EnumOption{.default_value = "fast", .choices = {"fast", "exact"}, .description = "Which."},
     R"({"kind":"enum","default":"fast","choices":["fast","exact"],"description":"Which."})",
     R"({"type":"string","title":"Scale frame","description":"Which.","default":"fast",
         "enum":["fast","exact"]})"},
    {TextOption{.default_value = "a", .description = "What."},
     R"({"kind":"text","default":"a","description":"What."})",
     R"({"type":"string","title":"Scale frame","description":"What.","default":"a"})"},
};

TEST(OptionJson, HasTheFormOfTheManifest) {
  for (const Form& form : kForms)
    EXPECT_EQ(option_to_json(form.option), json::parse(form.manifest));
}

TEST(OptionJson, IsReadBackAsTheSameOption) {
  for (const Form& form : kForms) {
    EXPECT_EQ(option_from_json(json::parse(form.manifest)), form.option) << form.manifest;
  }
}

TEST(OptionJson, KeepsAnyNumbersExactly) {
  std::mt19937_64 engine(9);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-1070, 1020);
  const auto real = [&] { return std::ldexp(mantissa(engine), exponent(engine)); };
  const auto whole = [&] { return static_cast<std::int64_t>(engine()); };
  const auto back = [](const Option& option) {
    return option_from_json(json::parse(option_to_json(option).dump()));
  };
  for (int i = 0; i < 1000; ++i) {
    const Option number = FloatOption{.default_value = real(), .min = real(), .max = real()};
    const Option integer = IntOption{.default_value = whole(), .min = whole(), .max = whole()};
    ASSERT_EQ(back(number), number);
    ASSERT_EQ(back(integer), integer);
  }
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
  const Option widest = IntOption{.default_value = 0, .min = least, .max = greatest};
  EXPECT_EQ(back(widest), widest);
}

TEST(OptionJson, NamesTheWrongFieldByItsPointer) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"[]", "an object is needed, but it is an array of 0"},
      {R"({"default":1})", R"(the field "kind" is missing)"},
      {R"({"kind":3,"default":1})", "/kind: a string is needed, but it is 3"},
      {R"({"kind":"real","default":1})",
       R"(/kind: "float", "int", "bool", "enum" or "text" is needed, but it is "real")"},
      {R"({"kind":"float"})", R"(the field "default" is missing)"},
      {R"({"kind":"float","default":null})", "/default: a number is needed, but it is null"},
      {R"({"kind":"float","default":1,"min":"0"})", R"(/min: a number is needed, but it is "0")"},
      {R"({"kind":"int","default":1.5})", "/default: a whole number is needed, but it is 1.5"},
      {R"({"kind":"int","default":1,"max":9223372036854775808})",
       "/max: a whole number of at most 9223372036854775807 is needed, but it is "
       "9223372036854775808"},
      {R"({"kind":"int","default":-9223372036854775809})",
       "/default: a whole number is needed, but it is -9.223372036854776e+18"},
      {R"({"kind":"bool","default":0})", "/default: true or false is needed, but it is 0"},
      {R"({"kind":"enum","default":"a"})", R"(the field "choices" is missing)"},
      {R"({"kind":"enum","default":"a","choices":["a",1]})",
       "/choices/1: a string is needed, but it is 1"},
      {R"({"kind":"text","default":"a","description":{}})",
       "/description: a string is needed, but it is an object"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT([&text = text] { option_from_json(json::parse(text)); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, message))
        << text;
  }
}

TEST(OptionSchema, DescribesEachTypeOfOption) {
  for (const Form& form : kForms) {
    EXPECT_EQ(option_schema("scale_frame", form.option), json::parse(form.schema));
  }
}

TEST(OptionSchema, MakesATitleFromTheName) {
  const auto title = [](std::string_view name) {
    return option_schema(name, BoolOption{})["title"].get<std::string>();
  };
  EXPECT_EQ(title("threshold"), "Threshold");
  EXPECT_EQ(title("scale_frame_max_side_length"), "Scale frame max side length");
  EXPECT_EQ(title("3d"), "3d");
  EXPECT_EQ(title(""), "");
}

TEST(OptionsSchema, DescribesAnObjectWithoutOtherProperties) {
  EXPECT_EQ(options_schema({{"on", BoolOption{}}, {"label", TextOption{}}}), json::parse(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
      "on": {"type": "boolean", "title": "On", "default": false},
      "label": {"type": "string", "title": "Label", "default": ""}},
    "additionalProperties": false})"));
}

TEST(OptionsSchema, HasNoPropertiesWithoutOptions) {
  EXPECT_EQ(options_schema({})["properties"], json::object());
}

}  // namespace
}  // namespace vcap
