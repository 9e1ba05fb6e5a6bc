// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/text_reader.hpp"

#include <gtest/gtest.h>

#include "backends/reader_support.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

MATCHER_P2(At, x, y, "") {
  *result_listener << arg.x << " " << arg.y;
  return std::abs(arg.x - x) < 1e-3 && std::abs(arg.y - y) < 1e-3;
}

/// Writes text into a map of 20 rows and 40 columns, in columns x1 to x2 and rows y1 to y2.
void write_text(MadeOutputs& outputs, std::size_t x1, std::size_t y1, std::size_t x2,
                std::size_t y2, float probability) {
  for (std::size_t y = y1; y <= y2; ++y)
    for (std::size_t x = x1; x <= x2; ++x) outputs.value(0, y * 40 + x) = probability;
}

MadeOutputs no_text(MadeOutputs outputs) { return outputs.fill("maps", {1, 1, 20, 40}, 0); }

TEST(TextBoxReader, GrowsTheRectangleAroundTheCells) {
  // A cell is 2×2 pixels of the input. A pixel of the input is 2×3 pixels of the picture, which
  // begins 20 of its pixels lower.
  MadeOutputs outputs =
      no_text(MadeOutputs({80, 40}, {160, 120}, {.x_scale = 2, .y_scale = 3, .y_shift = -20}));
  write_text(outputs, 10, 8, 20, 12, 0.875f);
  // The rectangle through the centres of cells is 10.5 to 20.5, 8.5 to 12.5, that is 10 by 4. Each
  // side grows by 10·4·1.4 / 28 = 2, which gives 8.5 to 22.5, 6.5 to 14.5.
  const auto boxes = TextBoxReader({.unclip_ratio = 1.4})(outputs);
  ASSERT_THAT(boxes, ElementsAre(Field(&TextBox::confidence, DoubleNear(0.875, 1e-6))));
  EXPECT_THAT(boxes[0].corners, ElementsAre(At(34, 19), At(90, 19), At(90, 67), At(34, 67)));
}

TEST(TextBoxReader, FindsTextOfAnyAngle) {
  MadeOutputs outputs = no_text(MadeOutputs({40, 20}));
  // A band of cells at 45 degrees, five cells wide.
  for (std::size_t i = 0; i <= 10; ++i)
    for (std::size_t j = 0; j <= 4; ++j) {
      outputs.value(0, (3 + i + 4 - j) * 40 + 5 + i + j) = 1;
      if (j < 4 && i < 10) outputs.value(0, (3 + i + 4 - j) * 40 + 6 + i + j) = 1;
    }
  const auto boxes = TextBoxReader({.unclip_ratio = 0})(outputs);
  ASSERT_THAT(boxes, SizeIs(1));
  // The corners are centres of cells, clockwise from the one nearest to the top left.
  EXPECT_THAT(boxes[0].corners,
              ElementsAre(At(5.5, 7.5), At(9.5, 3.5), At(19.5, 13.5), At(15.5, 17.5)));
}

TEST(TextBoxReader, GivesBoxesByFallingMeanProbability) {
  MadeOutputs outputs = no_text(MadeOutputs({40, 20}));
  write_text(outputs, 2, 2, 12, 6, 0.75f);
  write_text(outputs, 20, 10, 30, 15, 0.875f);
  write_text(outputs, 2, 12, 12, 16, 0.5f);  // not confident enough
  EXPECT_THAT(TextBoxReader(TextBoxSettings{})(outputs),
              ElementsAre(Field(&TextBox::confidence, DoubleNear(0.875, 1e-6)),
                          Field(&TextBox::confidence, DoubleNear(0.75, 1e-6))));
  EXPECT_THAT(TextBoxReader({.threshold = 0})(outputs), SizeIs(3));
  EXPECT_THAT(TextBoxReader({.threshold = 0, .max_candidates = 2})(outputs), SizeIs(2));
  EXPECT_THAT(TextBoxReader({.cell_threshold = 0.8, .threshold = 0})(outputs), SizeIs(1));
  EXPECT_THAT(TextBoxReader({.threshold = 1})(outputs), IsEmpty());
}

TEST(TextBoxReader, LeavesOutSpecksAndClipsToThePicture) {
  MadeOutputs outputs = no_text(MadeOutputs({40, 20}));
  write_text(outputs, 20, 10, 30, 12, 1);  // two cells from centre to centre
  EXPECT_THAT(TextBoxReader(TextBoxSettings{})(outputs), IsEmpty());
  EXPECT_THAT(TextBoxReader({.min_side = 2})(outputs), SizeIs(1));
  EXPECT_THAT(TextBoxReader(TextBoxSettings{})(no_text(MadeOutputs({40, 20}))), IsEmpty());
  write_text(outputs, 0, 0, 39, 19, 1);
  const auto boxes = TextBoxReader({.unclip_ratio = 100})(outputs);
  ASSERT_THAT(boxes, SizeIs(1));
  EXPECT_THAT(boxes[0].corners, ElementsAre(At(0, 0), At(40, 0), At(40, 20), At(0, 20)));
}

TEST(TextBoxReader, CountsBadNumbersAsNoTextAndBoundsHugeOnes) {
  for (const float bad : kBadNumbers) {
    MadeOutputs outputs = no_text(MadeOutputs({40, 20}));
    write_text(outputs, 0, 0, 39, 19, bad);
    EXPECT_THAT(TextBoxReader({.threshold = 0})(outputs), IsEmpty()) << bad;
    write_text(outputs, 10, 8, 20, 12, 0.875f);
    EXPECT_THAT(TextBoxReader(TextBoxSettings{})(outputs),
                ElementsAre(Field(&TextBox::confidence, DoubleNear(0.875, 1e-6))));
  }
  MadeOutputs outputs = no_text(MadeOutputs({40, 20}));
  write_text(outputs, 0, 0, 39, 19, -3e38f);
  write_text(outputs, 10, 8, 20, 12, 3e38f);
  EXPECT_THAT(TextBoxReader(TextBoxSettings{})(outputs),
              ElementsAre(Field(&TextBox::confidence, 1.0)));
}

TEST(TextBoxReader, RefusesOtherShapesAndSettings) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{1, 2, 20, 40}, {1, 1, 0, 40}, {40}, {1, 1, 1, 40000}})
    expect_refused(TextBoxReader(TextBoxSettings{}), MadeOutputs({40, 20}).fill("maps", shape, 0),
                   AllOf(HasSubstr("TextBoxReader: output \"maps\" has the shape"),
                         HasSubstr("expected is [1,1,H,W]"), HasSubstr("name the model's output")));
  const auto bad = [](TextBoxSettings settings, const std::string& message) {
    expect_bad_setting([&] { TextBoxReader reader(settings); }, HasSubstr(message));
  };
  bad({.cell_threshold = 2}, "cell_threshold 2.0");
  bad({.threshold = -1}, "threshold -1.0");
  bad({.unclip_ratio = 101}, "unclip_ratio");
  bad({.unclip_ratio = kNan}, "unclip_ratio");
  bad({.min_side = -1}, "min_side");
  bad({.max_candidates = 0}, "max_candidates");
}

/// Scores of 0.7 for the character of each step, and less for others; '-' is the blank.
std::vector<float> steps(const std::string& text, const std::string& characters) {
  std::vector<float> values;
  for (const char step : text)
    for (const char character : characters) values.push_back(step == character ? 0.7f : 0.1f);
  return values;
}

TextLineSettings abc(std::size_t blank = 0) {
  return {.dictionary = {"a", "b", "ü"}, .blank = blank};
}

std::string text_of(const std::string& path, const std::string& characters, std::size_t blank) {
  MadeOutputs outputs({9, 9});
  outputs.add("o", {1, path.size(), 4}, steps(path, characters));
  return TextLineReader(abc(blank))(outputs).text;
}

TEST(TextLineReader, MergesRunsAndLeavesOutBlanks) {
  EXPECT_EQ(text_of("--aa-abb-u", "-abu", 0), "aabü");
  EXPECT_EQ(text_of("--aa-abb-u", "abu-", 3), "aabü");
  EXPECT_EQ(text_of("--aa-abb-u", "a-bu", 1), "aabü");
  EXPECT_EQ(text_of("a", "-abu", 0), "a");
  EXPECT_EQ(text_of("----", "-abu", 0), "");
  EXPECT_EQ(text_of("", "-abu", 0), "");
}

TEST(TextLineReader, GivesTheMeanOfTheCharactersFirstSteps) {
  MadeOutputs outputs({9, 9});
  outputs.add("o", {4, 1, 4},
              {0, 0.5f, 0, 0,     // a
               0, 0.9f, 0, 0,     // a still
               1, 0, 0, 0,        // blank
               0, 0, 0.75f, 0});  // b
  EXPECT_EQ(TextLineReader(abc())(outputs), (RecognizedText{"ab", 0.625}));
  EXPECT_EQ(TextLineReader(abc())(MadeOutputs({9, 9}).fill("o", {1, 0, 4}, 0)), RecognizedText{});
}

TEST(TextLineReader, TakesTheSoftmaxOfLogits) {
  TextLineSettings settings = abc();
  settings.logits = true;
  MadeOutputs outputs({9, 9});
  outputs.add("o", {1, 2, 4}, {0, 3, 1, 2, 1e30f, -1e30f, 3e38f, 0});
  // numpy: np.exp(3) / np.exp([0, 3, 1, 2]).sum() = 0.64391426; then 1.
  const RecognizedText found = TextLineReader(settings)(outputs);
  EXPECT_EQ(found.text, "ab");
  EXPECT_NEAR(found.confidence, (0.64391426 + 1) / 2, 1e-7);
}

TEST(TextLineReader, CountsAStepWithABadNumberAsABlankAndBoundsHugeOnes) {
  for (const float bad : kBadNumbers) {
    MadeOutputs outputs({9, 9});
    outputs.add("o", {1, 3, 4}, {0, 1, 0, 0, 0, 1, 0, bad, 0, 1, 0, 0});
    EXPECT_EQ(TextLineReader(abc())(outputs).text, "aa") << bad;
  }
  MadeOutputs outputs({9, 9});
  outputs.add("o", {1, 1, 4}, {-3e38f, 3e38f, 0, 0});
  EXPECT_EQ(TextLineReader(abc())(outputs), (RecognizedText{"a", 1}));
}

TEST(TextLineReader, RefusesOtherShapesAndSettings) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{1, 10, 5}, {2, 10, 4}, {1, 4, 10}, {4}, {}})
    expect_refused(TextLineReader(abc()), MadeOutputs({9, 9}).fill("logits", shape, 0),
                   AllOf(HasSubstr("TextLineReader: output \"logits\" has the shape"),
                         HasSubstr("expected is [1,T,4] or [T,1,4] for 3 characters and the blank"),
                         HasSubstr("give the model's dictionary")));
  expect_bad_setting([] { TextLineReader reader({}); }, HasSubstr("dictionary is empty"));
  expect_bad_setting([] { TextLineReader reader(abc(4)); },
                     HasSubstr("blank has index 4, but there are 4 scores"));
}

}  // namespace
}  // namespace vcap
