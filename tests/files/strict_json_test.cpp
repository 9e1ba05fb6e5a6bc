// SPDX-License-Identifier: Apache-2.0
#include "files/strict_json.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ParseStrictly, GivesTheSameAsTheLibrarysOwnParser) {
  const std::string text =
      R"({"a":[1,-2,3.5,1e3,"x\u00e9",true,null,[],{}],"b":{"c":[{"d":18446744073709551615}]}})";
  EXPECT_EQ(parse_strictly(text), json::parse(text));
  EXPECT_EQ(parse_strictly("7"), 7);
}

TEST(ParseStrictly, RefusesADuplicateKeyWithItsPointer) {
  EXPECT_THAT(
      [] { parse_strictly(R"({"a":[0,{"x/y":1,"b":2,"x/y":3}]})"); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr("/a/1/x~1y: occurs twice")));
}

TEST(ParseStrictly, AcceptsAtMostThirtyTwoLevels) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(parse_strictly(nested(32)));
  EXPECT_NO_THROW(parse_strictly(nested(193), 193));
  EXPECT_THROW(parse_strictly(nested(194), 193), InvalidArgument);
  EXPECT_THAT([&] { parse_strictly(nested(33)); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr("32 levels")));
  EXPECT_THAT([&] { parse_strictly(nested(1000000)); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr("/0/0/0")));
  EXPECT_THAT([] { parse_strictly(std::string(200000, '{')); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json, testing::_));
}

TEST(ParseStrictly, RefusesWholeNumbersThatWouldBeRounded) {
  for (const char* const text :
       {R"({"a":[18446744073709551616]})", R"({"a":[-9223372036854775809]})"})
    EXPECT_THAT(
        [&] { parse_strictly(text); },
        ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr("/a/0: the number")));
}

TEST(ParseStrictly, RefusesInvalidJson) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{} {}"), std::string("\"\xff\""),
        std::string("1e999"), std::string("{\"a\":1,}"), std::string("[1] \0", 5),
        std::string("nan")})
    EXPECT_THAT([&] { parse_strictly(text); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, testing::_))
        << text;
}

}  // namespace
}  // namespace vcap
