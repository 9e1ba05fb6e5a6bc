// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "examples/networks.hpp"

// Tests of detector_text and recognizer_text.

namespace {

class Text : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_NETWORK("detector_text");
    REQUIRE_NETWORK("recognizer_text");
  }
};

std::string read(const cv::Mat& image, const vcap::DetectionNode& line) {
  return examples::process("recognizer_text", image, line).extra_data.at("text");
}

/// The text in lower case; without spaces unless `spaces` is set.
std::string plain(const std::string& text, bool spaces) {
  std::string result;
  for (const char c : text)
    if (spaces || c != ' ')
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::vector<cv::Point2f> polygon(const vcap::Coords& coords) {
  return {coords.begin(), coords.end()};
}

double polygon_iou(const std::vector<cv::Point2f>& a, const std::vector<cv::Point2f>& b) {
  std::vector<cv::Point2f> both;
  const double common = cv::intersectConvexConvex(a, b, both);
  return common / (cv::contourArea(a) + cv::contourArea(b) - common);
}

struct TextCounts {
  int labelled = 0, found = 0, correct = 0, wrong = 0, read = 0, read_without_spaces = 0;
};

TextCounts count_text(const std::string& name, const nlohmann::json& labels) {
  TextCounts counts;
  const cv::Mat image = examples::picture(name);
  const auto lines = examples::network("detector_text")->process_frame({.image = image});
  counts.found = static_cast<int>(lines.size());
  std::vector<bool> used(lines.size());
  for (const nlohmann::json& label : labels) {
    std::vector<cv::Point2f> quad;
    for (const nlohmann::json& corner : label.at("quad")) quad.emplace_back(corner[0], corner[1]);
    const bool ignored = label.at("ignore");
    counts.labelled += ignored ? 0 : 1;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (used[i] || polygon_iou(polygon(lines[i].coords), quad) < (ignored ? 0.2 : 0.5)) continue;
      used[i] = true;
      if (ignored) continue;
      ++counts.correct;
      const std::string text = read(image, lines[i]), wanted = label.at("text");
      counts.read += plain(text, true) == plain(wanted, true);
      counts.read_without_spaces += plain(text, false) == plain(wanted, false);
      break;
    }
  }
  counts.wrong = static_cast<int>(std::ranges::count(used, false));
  std::printf("%s | %d | %d | %d | %d | %d | %d\n", name.c_str(), counts.labelled, counts.found,
              counts.correct, counts.wrong, counts.read, counts.read_without_spaces);
  return counts;
}

TEST_F(Text, IsFoundAndReadAsLabelled) {
  TextCounts sum;
  const nlohmann::json all = examples::labels("text");
  for (const auto& [name, labels] : all.items()) {
    const TextCounts counts = count_text(name, labels);
    sum.labelled += counts.labelled;
    sum.correct += counts.correct;
    sum.read += counts.read;
    sum.read_without_spaces += counts.read_without_spaces;
  }
  EXPECT_EQ(sum.labelled, 58);
  EXPECT_GE(sum.correct, 45);
  EXPECT_GE(sum.read, 28);
  EXPECT_GE(sum.read_without_spaces, 39);
}

struct ReadingCase {
  const char* name;
  const char* picture;
  cv::Rect2d box;
  const char* text;
};

class ClearText : public Text, public testing::WithParamInterface<ReadingCase> {};

TEST_P(ClearText, IsReadCorrectly) {
  EXPECT_EQ(
      plain(read(examples::picture(GetParam().picture), examples::node("text", GetParam().box)),
            true),
      GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Samples, ClearText,
    testing::Values(ReadingCase{"level", "opencv-logo-white.png", {4, 190, 172, 40}, "opencv"},
                    ReadingCase{"upwards", "box.png", {130, 67, 22, 98}, "pan ducale"},
                    ReadingCase{"long",
                                "imageTextN.png",
                                {30, 19, 320, 13},
                                "technical details are too complex to cover in the book itself."}),
    [](const auto& test) { return test.param.name; });

TEST_F(Text, IsReadAtAnyAngleByItsCorners) {
  cv::Mat image = examples::picture("imageTextN.png");
  cv::copyMakeBorder(image, image, 0, 200, 100, 0, cv::BORDER_CONSTANT, cv::Scalar::all(255));
  const cv::Rect2d box(130, 240, 245, 13);
  const std::string level = read(image, examples::node("text", box));
  EXPECT_EQ(level, "inspiration from three high-level approaches:");
  for (const double angle : {15.0, -40.0}) {
    const cv::Matx23d turn = cv::getRotationMatrix2D({250, 240}, angle, 1);
    cv::Mat turned;
    cv::warpAffine(image, turned, turn, image.size(), cv::INTER_CUBIC, cv::BORDER_CONSTANT,
                   cv::Scalar::all(255));
    vcap::DetectionNode line{.name = "text"};
    for (const cv::Point2d& corner : vcap::rect_to_coords(box))
      line.coords.push_back(cv::Point2d(turn * cv::Vec3d(corner.x, corner.y, 1)));
    EXPECT_EQ(plain(read(turned, line), false), plain(level, false)) << angle;
  }
}

TEST_F(Text, IsEmptyIfThereIsNone) {
  const cv::Mat gray(240, 320, CV_8UC3, cv::Scalar::all(127));
  EXPECT_EQ(read(gray, examples::node("text", {100, 60, 120, 20})), "");
}

TEST_F(Text, IsEmptyForAnOutlineWithoutArea) {
  const vcap::DetectionNode point{.name = "text",
                                  .coords = {{20, 20}, {20, 20}, {20, 20}, {20, 20}}};
  EXPECT_EQ(read(cv::Mat(240, 320, CV_8UC3, cv::Scalar::all(127)), point), "");
}

}  // namespace
