// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/labels.hpp"

#include <gtest/gtest.h>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadLabels, TakesALabelALine) {
  EXPECT_THAT(read_labels("person\ntraffic light"), ElementsAre("person", "traffic light"));
  EXPECT_THAT(read_labels("person\nbus\n"), ElementsAre("person", "bus"));
  EXPECT_THAT(read_labels("person"), ElementsAre("person"));
}

TEST(ReadLabels, TakesCrLfAndAByteOrderMark) {
  EXPECT_THAT(read_labels("\xEF\xBB\xBFperson\r\nbus\r\n"), ElementsAre("person", "bus"));
}

TEST(ReadLabels, IgnoresOneEmptyLineAtTheEnd) {
  EXPECT_THAT(read_labels("person\n\n"), ElementsAre("person"));
  EXPECT_THAT(read_labels("person\r\n\r\n"), ElementsAre("person"));
}

TEST(ReadLabels, KeepsSpaces) {
  EXPECT_THAT(read_labels("a\n \n b "), ElementsAre("a", " ", " b "));
}

TEST(ReadLabels, RefusesAnEmptyLabelWithItsLine) {
  for (const char* const text : {"a\nb\n\nc\n", "a\r\nb\r\n\r\nc", "a\nb\n\n\n"})
    EXPECT_THAT([&] { read_labels(text); },
                ThrowsError<EngineError>(ErrorCode::invalid_model_spec,
                                         HasSubstr("labels: line 3 is empty")))
        << text;
  EXPECT_THAT([] { read_labels("\n"); }, ThrowsError<EngineError>(ErrorCode::invalid_model_spec,
                                                                  HasSubstr("line 1 is empty")));
}

TEST(ReadLabels, RefusesAnEmptyText) {
  for (const char* const text : {"", "\xEF\xBB\xBF"})
    EXPECT_THAT(
        [&] { read_labels(text); },
        ThrowsError<EngineError>(ErrorCode::invalid_model_spec, HasSubstr("the text is empty")));
}

}  // namespace
}  // namespace vcap
