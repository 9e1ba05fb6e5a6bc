// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace vcap {
namespace {

using Texts = std::vector<std::string>;

TEST(Quote, EscapesQuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(quote("a \"b\" \\ c\n\x01\x7f"), R"("a \"b\" \\ c\n\x01\x7f")");
}

TEST(Quote, LeavesOtherBytesAsTheyAre) { EXPECT_EQ(quote("größe"), "\"größe\""); }

TEST(Quote, CutsALongTextShort) {
  EXPECT_EQ(quote(std::string(120, 'a')), "\"" + std::string(120, 'a') + "\"");
  EXPECT_EQ(quote(std::string(121, 'a')), "\"" + std::string(120, 'a') + "…\"");
}

TEST(Quote, CutsBetweenCharacters) {
  // "€" has three bytes. Whatever the length of the cut, only whole characters may remain.
  for (std::size_t before = 0; before < 3; ++before) {
    std::string text(before, 'a');
    for (int i = 0; i < 60; ++i) text += "€";
    const std::string cut = quote(text);
    EXPECT_EQ((cut.size() - 2 - std::string("…").size() - before) % 3, 0u) << before;
  }
}

TEST(QuoteList, JoinsTextsByCommas) {
  EXPECT_EQ(quote_list(Texts{"red", "green"}), "\"red\", \"green\"");
  EXPECT_EQ(quote_list(Texts{}), "(none)");
}

TEST(NumberText, GivesTheFewestDigitsAndKeepsThePointOfAWholeNumber) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1), "1.0");
  EXPECT_EQ(number_text(-0.0), "-0.0");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-infinity");
}

TEST(EditDistance, CountsInsertionsRemovalsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("threshold", "treshold"), 1u);
  EXPECT_EQ(edit_distance("ab", "ba"), 2u);
}

TEST(Suggestion, NamesTheNearestText) {
  EXPECT_EQ(suggestion("treshold", Texts{"scale_frame", "threshold", "thresholds"}),
            "; did you mean \"threshold\"?");
}

TEST(Suggestion, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(suggestion("colour", Texts{"threshold", "scale_frame"}), "");
  EXPECT_EQ(suggestion("x", Texts{"y"}), "") << "a short name is not a misspelt other name";
  EXPECT_EQ(suggestion("threshold", Texts{}), "");
}

TEST(Suggestion, IgnoresTextThatIsTooLongForAName) {
  const std::string huge(65, 'a');
  EXPECT_EQ(suggestion(huge, Texts{std::string(64, 'a')}), "");
}

}  // namespace
}  // namespace vcap
