// SPDX-License-Identifier: Apache-2.0
#include "image/text_patch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <opencv2/imgproc.hpp>

namespace vcap {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
/// No image shows a longer line. So the fitting below stays fast for any attribute.
constexpr std::size_t kLongestLine = 200;

/// Black or white, whichever contrasts with the patch (luma of ITU-R BT.601).
cv::Scalar ink_on(const cv::Scalar& patch) {
  const double luma = 0.114 * patch[0] + 0.587 * patch[1] + 0.299 * patch[2];
  return luma > 128 ? cv::Scalar(0, 0, 0) : cv::Scalar(255, 255, 255);
}

}  // namespace

TextStyle::TextStyle(double scale)
    : font_scale_(0.45 * scale),
      thickness_(std::max(1, static_cast<int>(std::lround(scale)))),
      margin_(thickness_ + 1) {
  int below = 0;
  ascent_ = cv::getTextSize("Ag", kFont, font_scale_, thickness_, &below).height;
  line_height_ = ascent_ + below + margin_;
}

int TextStyle::width(const std::string& line) const {
  int below = 0;
  return cv::getTextSize(line, kFont, font_scale_, thickness_, &below).width + 2 * margin_;
}

cv::Size TextStyle::size(const std::vector<std::string>& lines) const {
  int widest = 0;
  for (const std::string& line : lines) widest = std::max(widest, width(line));
  return {widest, line_height_ * static_cast<int>(lines.size())};
}

std::string TextStyle::fitted(std::string line, int widest) const {
  if (width(line) <= widest) return line;
  // The longest beginning that fits, by bisection.
  std::size_t fits = 0, fails = line.size();
  while (fails - fits > 1) {
    const std::size_t middle = (fits + fails) / 2;
    (width(line.substr(0, middle) + "..") <= widest ? fits : fails) = middle;
  }
  line.resize(fits);
  if (width(line + "..") > widest) return {};
  return line + "..";
}

void TextStyle::draw(cv::Mat& image, const cv::Rect& patch, const std::vector<std::string>& lines,
                     const cv::Scalar& color) const {
  cv::rectangle(image, patch, color, cv::FILLED);
  cv::Point origin(patch.x + margin_, patch.y + margin_ + ascent_);
  for (const std::string& line : lines) {
    cv::putText(image, line, origin, kFont, font_scale_, ink_on(color), thickness_, cv::LINE_AA);
    origin.y += line_height_;
  }
}

std::string shown_text(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = byte >= 0x80 && byte < 0xC0;
    if (!continues) shown += byte >= 0x20 && byte < 0x7F ? c : '?';
    if (shown.size() == kLongestLine) break;
  }
  return shown;
}

}  // namespace vcap
