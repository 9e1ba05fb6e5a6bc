// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
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

TEST(BoundedText, KeepsAShortText) {
  EXPECT_EQ(bounded_text(""), "");
  EXPECT_EQ(bounded_text(std::string(4096, 'a')), std::string(4096, 'a'));
}

TEST(BoundedText, CutsALongTextBetweenCharactersAndSaysSo) {
  for (std::size_t before = 0; before < 3; ++before) {
    std::string text(before, 'a');
    while (text.size() < 50'000) text += "€";
    const std::string cut = bounded_text(text);
    const std::string mark = "… (" + std::to_string(text.size()) + " bytes, cut)";
    ASSERT_TRUE(cut.ends_with(mark)) << cut.substr(cut.size() - 40);
    EXPECT_EQ(find_invalid_utf8(cut), std::string::npos);
    EXPECT_GE(cut.size(), 4094 + mark.size());
    EXPECT_LE(cut.size(), 4096 + mark.size());
  }
}

TEST(ExceptionText, IsBounded) {
  const auto thrown = std::make_exception_ptr(std::runtime_error(std::string(50'000'000, 'x')));
  EXPECT_LT(exception_text(thrown).size(), 4200u);
}

TEST(FindInvalidUtf8, AcceptsEverySequenceOfRfc3629) {
  for (const std::string text :
       {"", "plain text of many bytes", "größe €", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(find_invalid_utf8(text), std::string::npos) << quote(text);
  EXPECT_EQ(find_invalid_utf8(std::string(9, '\0')), std::string::npos);
}

TEST(FindInvalidUtf8, GivesThePlaceOfTheFirstFault) {
  // A lone continuation, an overlong form, a surrogate, one above U+10FFFF, and cut sequences.
  for (const std::string fault :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xf0\x9f\x98", "\xe2\x28\xa1"})
    for (const std::size_t before : {0u, 3u, 8u, 21u}) {
      EXPECT_EQ(find_invalid_utf8(std::string(before, 'a') + fault), before) << quote(fault);
      EXPECT_EQ(find_invalid_utf8(std::string(before, 'a') + fault + "bcdefghij"), before);
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
  EXPECT_EQ(number_text(1e5), "100000.0");
  EXPECT_EQ(number_text(-123456789.25), "-123456789.25");
  EXPECT_EQ(number_text(999'999'999'999'999), "999999999999999.0");
  EXPECT_EQ(number_text(0.00012345678901234567), "0.00012345678901234567");
  EXPECT_EQ(number_text(1e-5), "1e-05");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-infinity");
}

TEST(Counted, GivesTheNounInTheFormOfItsCount) {
  EXPECT_EQ(counted(0, "frame"), "0 frames");
  EXPECT_EQ(counted(1, "frame"), "1 frame");
  EXPECT_EQ(counted(std::size_t{2}, "frame"), "2 frames");
}

TEST(ValidUtf8, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(valid_utf8("Straße 7"), "Straße 7");
  EXPECT_EQ(valid_utf8("a\xff"
                       "b\n\"\\"),
            "a\uFFFD"
            "b\n\"\\");
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
