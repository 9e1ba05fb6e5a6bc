// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/option.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

const FloatOption kFloat{.default_value = 0.5, .min = 0.1, .max = 1.0};
const IntOption kInt{.default_value = 3, .min = 1, .max = 9};
const EnumOption kEnum{.default_value = "fast", .choices = {"fast", "exact"}};

std::int64_t whole(std::int64_t number) { return number; }

TEST(Option, HasTheDefaultOfItsDeclaration) {
  EXPECT_EQ(default_value(kFloat), OptionValue(0.5));
  EXPECT_EQ(default_value(kInt), OptionValue(whole(3)));
  EXPECT_EQ(default_value(BoolOption{.default_value = true}), OptionValue(true));
  EXPECT_EQ(default_value(kEnum), OptionValue(std::string("fast")));
  EXPECT_EQ(default_value(TextOption{.default_value = "a"}), OptionValue(std::string("a")));
}

TEST(Option, AcceptsValuesUpToItsBounds) {
  const struct {
    Option option;
    OptionValue given;
    OptionValue taken;
  } cases[] = {
      {kFloat, 0.1, 0.1},
      {kFloat, 1.0, 1.0},
      {kFloat, whole(1), 1.0},
      {FloatOption{}, -1e300, -1e300},
      {FloatOption{.min = 0.0}, 1e300, 1e300},
      {FloatOption{.max = 0.0}, -1e300, -1e300},
      {kInt, whole(1), whole(1)},
      {kInt, whole(9), whole(9)},
      {IntOption{}, kLeast, kLeast},
      {IntOption{}, kGreatest, kGreatest},
      {BoolOption{}, true, true},
      {kEnum, std::string("exact"), std::string("exact")},
      {TextOption{}, std::string(), std::string()},
  };
  for (const auto& [option, given, taken] : cases) {
    EXPECT_EQ(check_value(option, given, "option \"x\""), taken);
  }
}

TEST(Option, RefusesValuesOutsideItsRangeAndSaysWhatIsAllowed) {
  const struct {
    Option option;
    OptionValue value;
    const char* message;
  } cases[] = {
      {kFloat, 1.7, "option \"x\": 1.7 is not within 0.1 to 1.0"},
      {kFloat, whole(0), "option \"x\": 0.0 is not within 0.1 to 1.0"},
      {kFloat, kNan, "option \"x\": NaN is not a finite number"},
      {FloatOption{}, kInfinity, "option \"x\": infinity is not a finite number"},
      {FloatOption{.min = 2.0, .max = {}}, 1.0, "option \"x\": 1.0 is not at least 2.0"},
      {FloatOption{.max = 2.0}, 2.5, "option \"x\": 2.5 is not at most 2.0"},
      {kInt, whole(0), "option \"x\": 0 is not within 1 to 9"},
      {kInt, whole(10), "option \"x\": 10 is not within 1 to 9"},
      {IntOption{.min = 2}, kLeast, "option \"x\": -9223372036854775808 is not at least 2"},
      {kEnum, std::string("fats"),
       "option \"x\": \"fats\" is not one of \"fast\", \"exact\"; did you mean \"fast\"?"},
      {kEnum, std::string(), "option \"x\": \"\" is not one of \"fast\", \"exact\""},
  };
  for (const auto& [option, value, message] : cases) {
    const auto call = [&option = option, &value = value] {
      check_value(option, value, "option \"x\"");
    };
    EXPECT_THAT(call, ThrowsError<OptionError>(ErrorCode::option_range, message)) << message;
  }
}

TEST(Option, RefusesValuesOfAnotherType) {
  const OptionValue number = 0.5, integer = whole(1), flag = true, text = std::string("true");
  const struct {
    Option option;
    std::vector<OptionValue> values;
    const char* needed;
  } cases[] = {
      {kFloat, {flag, text}, " is not a number"},
      {kInt, {number, flag, text}, " is not a whole number"},
      {BoolOption{}, {number, integer, text}, " is not true or false"},
      {kEnum, {number, integer, flag}, " is not one of the words \"fast\", \"exact\""},
      {TextOption{}, {number, integer, flag}, " is not text"},
  };
  for (const auto& [option, values, needed] : cases) {
    for (const OptionValue& value : values) {
      const auto call = [&option = option, &value] { check_value(option, value, "option \"x\""); };
      EXPECT_THAT(call, ThrowsError<OptionError>(ErrorCode::option_type, HasSubstr(needed)))
          << needed << value.index();
    }
  }
}

TEST(OptionDeclaration, IsAcceptedWhenItsDefaultIsAllowed) {
  for (const Option& option :
       {Option(kFloat), Option(FloatOption{}), Option(FloatOption{.min = 0.0, .max = 0.0}),
        Option(kInt), Option(IntOption{.default_value = kLeast}), Option(BoolOption{}),
        Option(kEnum), Option(TextOption{})}) {
    EXPECT_NO_THROW(check_declaration(option, "option \"x\""));
  }
}

TEST(OptionDeclaration, IsRefusedWhenItContradictsItself) {
  const struct {
    Option option;
    const char* message;
  } cases[] = {
      {FloatOption{.default_value = 1.7, .min = 0.1, .max = 1.0},
       "option \"x\": its default 1.7 is not within 0.1 to 1.0"},
      {FloatOption{.default_value = kNan}, "option \"x\": its default NaN is not a finite number"},
      {FloatOption{.default_value = 0, .min = 1.0, .max = -1.0},
       "option \"x\": its minimum 1.0 is above its maximum -1.0"},
      {FloatOption{.max = kInfinity},
       "option \"x\": the bound infinity is not a finite number; leave it out for no bound"},
      {FloatOption{.min = kNan},
       "option \"x\": the bound NaN is not a finite number; leave it out for no bound"},
      {IntOption{.min = 1}, "option \"x\": its default 0 is not at least 1"},
      {IntOption{.min = kGreatest, .max = kGreatest - 1},
       "option \"x\": its minimum 9223372036854775807 is above its maximum "
       "9223372036854775806"},
      {EnumOption{}, "option \"x\": it has no choices; give at least one"},
      {EnumOption{.default_value = "a", .choices = {"a", "b", "a"}},
       "option \"x\": its choice \"a\" occurs twice"},
      {EnumOption{.default_value = "c", .choices = {"a", "b"}},
       "option \"x\": its default \"c\" is not one of \"a\", \"b\""},
  };
  for (const auto& [option, message] : cases) {
    EXPECT_THAT([&option = option] { check_declaration(option, "option \"x\""); },
                ThrowsError<OptionError>(ErrorCode::invalid_option_declaration, message))
        << message;
  }
}

TEST(CommonDetectorOptions, HaveAConfidenceThreshold) {
  const Options options = common_detector_options();
  ASSERT_EQ(options.size(), 1u);
  const auto& threshold = std::get<FloatOption>(options.at("threshold"));
  EXPECT_EQ(threshold.default_value, 0.5);
  EXPECT_EQ(threshold.min, 0.0);
  EXPECT_EQ(threshold.max, 1.0);
  EXPECT_FALSE(threshold.description.empty());
  EXPECT_NO_THROW(check_declaration(options.at("threshold"), "threshold"));
}

}  // namespace
}  // namespace vcap
