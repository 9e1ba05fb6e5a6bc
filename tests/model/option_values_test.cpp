// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/option_values.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using testing::HasSubstr;

OptionValues values() {
  return OptionValues({{"threshold", FloatOption{.default_value = 0.5, .min = 0.1, .max = 1.0}},
                       {"count", IntOption{.default_value = 3, .min = 0}},
                       {"scale_frame", BoolOption{}},
                       {"mode", EnumOption{.default_value = "fast", .choices = {"fast", "exact"}}},
                       {"label", TextOption{.default_value = "none"}}},
                      "capsule detector_person");
}

/// The message of the error that `call` throws, with the code before it.
template <class Function>
std::string error_of(Function&& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "no error";
}

TEST(OptionValues, HoldsTheDefaultsAtFirst) {
  EXPECT_EQ(json(values()).dump(),
            R"({"count":3,"label":"none","mode":"fast","scale_frame":false,"threshold":0.5})");
}

TEST(OptionValues, HoldsNothingWithoutACapsule) {
  const OptionValues nothing;
  EXPECT_TRUE(nothing.declared().empty());
  EXPECT_FALSE(nothing.contains("threshold"));
  EXPECT_EQ(json(nothing).dump(), "{}");
  EXPECT_EQ(error_of([&] { nothing.get("x"); }),
            "unknown_option: option \"x\" is unknown; there are no options");
}

TEST(OptionValues, RefusesAnInvalidDeclaration) {
  EXPECT_EQ(error_of([] {
              OptionValues({{"threshold", FloatOption{.default_value = 2, .max = 1.0}}},
                           "capsule detector_person");
            }),
            "invalid_option_declaration: option \"threshold\" of capsule detector_person: its "
            "default 2.0 is not at most 1.0");
}

TEST(OptionValues, GivesEachValueInItsType) {
  const OptionValues all = values();
  EXPECT_EQ(all.get<double>("threshold"), 0.5);
  EXPECT_EQ(all.get<std::int64_t>("count"), 3);
  EXPECT_EQ(all.get<bool>("scale_frame"), false);
  EXPECT_EQ(all.get<std::string>("mode"), "fast");
  EXPECT_EQ(all.get<std::string>("label"), "none");
  EXPECT_EQ(all.get("threshold"), OptionValue(0.5));
}

TEST(OptionValues, RefusesToGiveAValueInAnotherType) {
  EXPECT_EQ(error_of([] { values().get<double>("count"); }),
            "option_type: option \"count\" of capsule detector_person holds a whole number "
            "(std::int64_t), but was read as a number (double)");
  EXPECT_EQ(error_of([] { values().get<bool>("mode"); }),
            "option_type: option \"mode\" of capsule detector_person holds text (std::string), but "
            "was read as true or false (bool)");
}

TEST(OptionValues, GivesAWholeNumberInEveryIntegerTypeThatHoldsIt) {
  OptionValues all({{"count", IntOption{}}}, "capsule detector_person");
  all.set("count", 200);
  EXPECT_EQ(all.get<int>("count"), 200);
  EXPECT_EQ(all.get<short>("count"), 200);
  EXPECT_EQ(all.get<std::uint8_t>("count"), 200);
  EXPECT_EQ(all.get<unsigned>("count"), 200u);
  EXPECT_EQ(all.get<std::size_t>("count"), 200u);
  EXPECT_EQ(all.get<long long>("count"), 200);
  EXPECT_EQ(error_of([&] { all.get<signed char>("count"); }),
            "option_range: option \"count\" of capsule detector_person is 200, which does not fit "
            "into the type that it was read as, -128 to 127; read it as std::int64_t, or declare "
            "narrower bounds");
  all.set("count", -1);
  EXPECT_EQ(all.get<signed char>("count"), -1);
  EXPECT_THAT(error_of([&] { all.get<std::uint64_t>("count"); }),
              HasSubstr("is -1, which does not fit into the type that it was read as, 0 to "
                        "18446744073709551615"));
  EXPECT_THAT(error_of([] { values().get<int>("threshold"); }), HasSubstr("option_type"));
}

static_assert(detail::ReadableOption<int> && detail::ReadableOption<std::uint16_t> &&
              detail::ReadableOption<double> && detail::ReadableOption<std::string>);
static_assert(!detail::ReadableOption<float> && !detail::ReadableOption<char> &&
              !detail::ReadableOption<std::string_view> && !detail::ReadableOption<const char*>);

// Texts of a temporary are copies; all else is given by value anyway.
static_assert(std::is_same_v<decltype(std::declval<const OptionValues&>().get<std::string>("")),
                             const std::string&>);
static_assert(
    std::is_same_v<decltype(std::declval<OptionValues>().get<std::string>("")), std::string>);
static_assert(std::is_same_v<decltype(std::declval<OptionValues>().get("")), OptionValue>);
static_assert(std::is_same_v<decltype(std::declval<OptionValues>().declared()), Options>);
static_assert(std::is_same_v<decltype(std::declval<const OptionValues&>().get<int>("")), int>);

TEST(OptionValues, GivesValuesOfATemporary) {
  const std::string& mode = values().get<std::string>("mode");
  EXPECT_EQ(mode, "fast");
  std::size_t names = 0;
  for (const auto& [name, option] : values().declared()) names += name.empty() ? 0 : 1;
  EXPECT_EQ(names, values().declared().size());
}

TEST(OptionValues, AcceptsEveryMatchingCxxType) {
  OptionValues all = values();
  all.set("threshold", 0.75);
  EXPECT_EQ(all.get<double>("threshold"), 0.75) << "a double was converted to an int";
  all.set("threshold", 0.25f);
  EXPECT_EQ(all.get<double>("threshold"), 0.25);
  all.set("threshold", 1);
  EXPECT_EQ(all.get<double>("threshold"), 1.0);
  all.set("count", short{4});
  EXPECT_EQ(all.get<std::int64_t>("count"), 4);
  all.set("count", std::uint64_t{1} << 40u);
  EXPECT_EQ(all.get<std::int64_t>("count"), std::int64_t{1} << 40u);
  all.set("scale_frame", true);
  EXPECT_EQ(all.get<bool>("scale_frame"), true) << "a bool was converted to an int";
  all.set("mode", "exact");
  EXPECT_EQ(all.get<std::string>("mode"), "exact") << "a literal was converted to a bool";
  all.set("label", std::string("a"));
  EXPECT_EQ(all.get<std::string>("label"), "a");
  all.set("label", std::string_view("b"));
  EXPECT_EQ(all.get<std::string>("label"), "b");
  all.set("label", OptionValue(std::string("c")));
  EXPECT_EQ(all.get<std::string>("label"), "c");
}

TEST(OptionValues, KeepsItsValueWhenANewOneIsRefused) {
  OptionValues all = values();
  EXPECT_EQ(error_of([&] { all.set("threshold", 1.7); }),
            "option_range: option \"threshold\" of capsule detector_person: 1.7 is not within 0.1 "
            "to 1.0");
  EXPECT_EQ(error_of([&] { all.set("scale_frame", 1); }),
            "option_type: option \"scale_frame\" of capsule detector_person: 1 is not true or "
            "false");
  EXPECT_EQ(error_of([&] { all.set("count", std::numeric_limits<std::uint64_t>::max()); }),
            "option_range: option \"count\" of capsule detector_person: 18446744073709551615 "
            "does not fit into a 64-bit number");
  EXPECT_EQ(all, values());
}

TEST(OptionValues, ListsTheOptionsWhenANameIsUnknown) {
  EXPECT_EQ(error_of([] { values().set("treshold", 0.7); }),
            "unknown_option: option \"treshold\" of capsule detector_person is unknown; the "
            "options are \"count\", \"label\", \"mode\", \"scale_frame\", \"threshold\"; did you "
            "mean \"threshold\"?");
  EXPECT_THAT(error_of([] { values().get<double>("x"); }), HasSubstr("unknown_option"));
  EXPECT_THAT(error_of([] { values().set_from_text("x", "1"); }), HasSubstr("unknown_option"));
}

TEST(OptionValues, ReadsTextByTheOptionsType) {
  OptionValues all = values();
  all.set_from_text("threshold", "0.7");
  EXPECT_EQ(all.get<double>("threshold"), 0.7);
  all.set_from_text("threshold", "1");
  EXPECT_EQ(all.get<double>("threshold"), 1.0);
  all.set_from_text("threshold", "25e-2");
  EXPECT_EQ(all.get<double>("threshold"), 0.25);
  all.set_from_text("count", "9223372036854775807");
  EXPECT_EQ(all.get<std::int64_t>("count"), std::numeric_limits<std::int64_t>::max());
  all.set_from_text("scale_frame", "true");
  EXPECT_EQ(all.get<bool>("scale_frame"), true);
  all.set_from_text("scale_frame", "false");
  EXPECT_EQ(all.get<bool>("scale_frame"), false);
  all.set_from_text("mode", "exact");
  EXPECT_EQ(all.get<std::string>("mode"), "exact");
  all.set_from_text("label", " 0.7 true ");
  EXPECT_EQ(all.get<std::string>("label"), " 0.7 true ");
  all.set_from_text("label", "");
  EXPECT_EQ(all.get<std::string>("label"), "");
}

TEST(OptionValues, RefusesTextThatIsNotAnAllowedValue) {
  const struct {
    const char* name;
    const char* text;
    const char* message;
  } cases[] = {
      {"threshold", "", "option_type: OPTION: \"\" is not a number, such as 0.5"},
      {"threshold", "0.7x", "option_type: OPTION: \"0.7x\" is not a number, such as 0.5"},
      {"threshold", " 0.7", "option_type: OPTION: \" 0.7\" is not a number, such as 0.5"},
      {"threshold", "0,7", "option_type: OPTION: \"0,7\" is not a number, such as 0.5"},
      {"threshold", "nan", "option_range: OPTION: NaN is not a finite number"},
      {"threshold", "-inf", "option_range: OPTION: -infinity is not a finite number"},
      {"threshold", "1e999", "option_range: OPTION: \"1e999\" does not fit into a 64-bit number"},
      {"threshold", "1e999x", "option_type: OPTION: \"1e999x\" is not a number, such as 0.5"},
      {"threshold", "1.7", "option_range: OPTION: 1.7 is not within 0.1 to 1.0"},
      {"count", "3.0", "option_type: OPTION: \"3.0\" is not a whole number"},
      {"count", "9223372036854775808",
       "option_range: OPTION: \"9223372036854775808\" does not fit into a 64-bit number"},
      {"count", "-1", "option_range: OPTION: -1 is not at least 0"},
      {"scale_frame", "True", "option_type: OPTION: \"True\" is not true or false"},
      {"scale_frame", "1", "option_type: OPTION: \"1\" is not true or false"},
      {"mode", "slow", "option_range: OPTION: \"slow\" is not one of \"fast\", \"exact\""},
  };
  for (const auto& [name, text, message] : cases) {
    OptionValues all = values();
    std::string expected = message;
    expected.replace(expected.find("OPTION"), 6,
                     "option \"" + std::string(name) + "\" of capsule detector_person");
    EXPECT_EQ(error_of([&, &name = name, &text = text] { all.set_from_text(name, text); }),
              expected);
    EXPECT_EQ(all, values());
  }
}

TEST(OptionValues, MergesTheNamesOfAnObject) {
  OptionValues all = values();
  all.merge(json::parse(R"({"threshold":1,"mode":"exact","scale_frame":true,"count":7})"));
  EXPECT_EQ(json(all).dump(),
            R"({"count":7,"label":"none","mode":"exact","scale_frame":true,"threshold":1.0})");
}

TEST(OptionValues, GivesTheSameValuesAfterMergingItsOwnJson) {
  OptionValues changed = values();
  changed.set("threshold", 0.1 + 0.2);
  changed.set("count", std::numeric_limits<std::int64_t>::max());
  changed.set("label", "\"quoted\"\n");
  OptionValues fresh = values();
  fresh.merge(json::parse(json(changed).dump()));
  EXPECT_EQ(fresh, changed);
}

TEST(OptionValues, MergesWholeNumbersAsJsonSchemaDefinesThem) {
  OptionValues all = values();
  all.merge({{"count", 7.0}});
  EXPECT_EQ(all.get<std::int64_t>("count"), 7);
  all.merge({{"count", 8u}});
  EXPECT_EQ(all.get<std::int64_t>("count"), 8);
}

TEST(OptionValues, AcceptsAnyJsonNumberForAFloat) {
  OptionValues all({{"x", FloatOption{}}});
  all.merge(json::parse(R"({"x":18446744073709551615})"));
  EXPECT_EQ(all.get<double>("x"), 18446744073709551616.0);
}

TEST(OptionValues, MergesAllOrNothing) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {R"({"count":7,"threshold":2})",
       "option_range: /threshold: option \"threshold\" of capsule detector_person: 2.0 is not "
       "within 0.1 to 1.0"},
      {R"({"count":7,"unknown":2})", "unknown_option: /unknown: option \"unknown\""},
      {R"({"count":7,"scale_frame":null})",
       "option_type: /scale_frame: option \"scale_frame\" of capsule detector_person: null is not "
       "a number, true, false or text"},
      {R"({"count":7,"mode":["fast"]})", "option_type"},
      {R"({"count":7.5})", "option_type"},
      {R"({"count":1e30})", "option_range"},
      {R"({"count":-1e30})", "option_range"},
      {R"({"count":9223372036854775808})",
       "option_range: /count: option \"count\" of capsule detector_person: 9223372036854775808 "
       "does not fit into a 64-bit number"},
      {R"([7])",
       "invalid_json: options of capsule detector_person: an object of names and values is needed, "
       "but it is an array of 1"},
  };
  for (const auto& [text, message] : cases) {
    OptionValues all = values();
    EXPECT_THAT(error_of([&, &text = text] { all.merge(json::parse(text)); }), HasSubstr(message));
    EXPECT_EQ(all, values()) << text;
  }
}

TEST(OptionValues, EqualsTheSameValuesOfAnotherOwner) {
  const OptionValues all = values();
  EXPECT_EQ(all, OptionValues(all.declared(), "capsule other"));
  EXPECT_EQ(OptionValues(), OptionValues(Options{}, "capsule other"));
}

TEST(OptionValues, DiffersByValueAndByDeclaration) {
  OptionValues changed = values();
  changed.set("count", 4);
  EXPECT_NE(changed, values());
  Options options = values().declared();
  std::get<IntOption>(options.at("count")).max = 100;
  EXPECT_NE(OptionValues(options), values());
}

TEST(OptionValues, HasIndependentCopies) {
  const OptionValues original = values();
  OptionValues copy = original;
  copy.set("count", 4);
  EXPECT_EQ(original.get<std::int64_t>("count"), 3);
}

TEST(OptionValues, HoldsNothingAfterAMove) {
  OptionValues first = values();
  const OptionValues second = std::move(first);
  EXPECT_EQ(second, values());
  EXPECT_EQ(first, OptionValues());
}

}  // namespace
}  // namespace vcap
