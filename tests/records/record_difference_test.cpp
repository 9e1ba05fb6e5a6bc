// SPDX-License-Identifier: Apache-2.0
#include "records/record_difference.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace vcap::test {
namespace {

TEST(RecordDifference, NamesTheFirstFieldAndBothValues) {
  const struct {
    const char* record;
    const char* other;
    RecordTolerance tolerance;
    const char* field;  ///< null: the records are equal
    const char* value = "";
    const char* other_value = "";
  } cases[] = {
      {R"({"a":1,"b":[1,2]})", R"({"b":[1,2],"a":1})", {}, nullptr},
      {R"({"a":1})", R"({"a":2})", {}, "/a", "1", "2"},
      {R"({"a":1})", R"({"a":1.0})", {}, nullptr},
      {R"({"a":1})", R"({"a":"1"})", {}, "/a", "1", "\"1\""},
      {R"({"a":1})", R"({})", {}, "/a", "1", "nothing"},
      {R"({})", R"({"a":null})", {}, "/a", "nothing", "null"},
      {R"({"o":[{"x":1},{"x":2}]})", R"({"o":[{"x":1},{"x":3}]})", {}, "/o/1/x", "2", "3"},
      {R"({"o":[1,2,3]})", R"({"o":[1]})", {}, "/o", "3 elements", "1"},
      {R"({"a":1.4,"b":1.4})", R"({"a":1.5,"b":1.5})", {.of_all = 0.2}, nullptr},
      {R"({"a":1.4,"b":1.4})", R"({"a":1.5,"b":1.9})", {.of_all = 0.2}, "/b", "1.4", "1.9"},
      {R"({"bbox":{"x":1,"y":2}})",
       R"({"bbox":{"x":1.5,"y":2}})",
       {.of_fields = {{"bbox", 0.5}}},
       nullptr},
      {R"({"bbox":{"x":1},"c":1})",
       R"({"bbox":{"x":1.5},"c":1.5})",
       {.of_fields = {{"bbox", 0.5}}},
       "/c",
       "1",
       "1.5"},
      {R"({"bbox":{"x":1}})",
       R"({"bbox":{"x":1.5}})",
       {.of_all = 1, .of_fields = {{"x", 0}}},
       "/bbox/x",
       "1",
       "1.5"},
      {R"({"t":"a"})", R"({"t":"b"})", {.of_all = 100}, "/t", "\"a\"", "\"b\""},
  };
  for (const auto& one : cases) {
    const auto found = first_difference(nlohmann::json::parse(one.record),
                                        nlohmann::json::parse(one.other), one.tolerance);
    ASSERT_EQ(found.has_value(), one.field != nullptr) << one.record << " and " << one.other;
    if (!found) continue;
    EXPECT_EQ(found->field, one.field);
    EXPECT_EQ(found->value, one.value);
    EXPECT_EQ(found->other, one.other_value);
  }
}

}  // namespace
}  // namespace vcap::test
