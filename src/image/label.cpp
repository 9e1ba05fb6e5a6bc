// SPDX-License-Identifier: Apache-2.0
#include "image/label.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

#include <opencv2/imgproc.hpp>

namespace vcap {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
/// No image shows a longer line. So the fitting below stays fast for any attribute.
constexpr std::size_t kLongestLine = 200;

/// Sizes in pixels of text at one scale.
struct Style {
  explicit Style(double scale)
      : font_scale(0.45 * scale),
        thickness(std::max(1, static_cast<int>(std::lround(scale)))),
        margin(thickness + 1) {
    int below = 0;
    ascent = cv::getTextSize("Ag", kFont, font_scale, thickness, &below).height;
    line_height = ascent + below + margin;
  }

  int width(const std::string& line) const {
    int below = 0;
    return cv::getTextSize(line, kFont, font_scale, thickness, &below).width + 2 * margin;
  }

  double font_scale;
  int thickness, margin;
  int ascent = 0, line_height = 0;
};

/// OpenCV's fonts have only printable ASCII: one '?' for any other character of UTF-8.
std::string printable(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = byte >= 0x80 && byte < 0xC0;
    if (!continues) shown += byte >= 0x20 && byte < 0x7F ? c : '?';
    if (shown.size() == kLongestLine) break;
  }
  return shown;
}

std::string two_digits(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f", value);
  return buffer;
}

/// Shortens the line until it fits into the width; empty if not even the ".." fits.
std::string fitted(std::string line, const Style& style, int width) {
  if (style.width(line) <= width) return line;
  while (!line.empty()) {
    line.pop_back();
    if (style.width(line + "..") <= width) return line + "..";
  }
  return line;
}

/// Black or white, whichever contrasts with the patch (luma of ITU-R BT.601).
cv::Scalar ink_on(const cv::Scalar& patch) {
  const double luma = 0.114 * patch[0] + 0.587 * patch[1] + 0.299 * patch[2];
  return luma > 128 ? cv::Scalar(0, 0, 0) : cv::Scalar(255, 255, 255);
}

/// Where a label goes: above the box, else at the top of its inside, always within the image.
cv::Rect place(cv::Size label, const cv::Rect& box, cv::Size image) {
  const int y = box.y >= label.height ? box.y - label.height : box.y;
  return {cv::Point(std::clamp(box.x, 0, image.width - label.width),
                    std::clamp(y, 0, image.height - label.height)),
          label};
}

}  // namespace

std::vector<std::string> label_lines(const DetectionNode& node, const DrawOptions& options) {
  std::string first;
  const auto append = [&first](const std::string& part) {
    if (!first.empty() && !part.empty()) first += ' ';
    first += part;
  };
  if (options.names) append(node.name);
  if (options.confidence)
    if (const std::optional<double> confidence = node.confidence()) append(two_digits(*confidence));
  if (options.track_ids && node.track_id) append('#' + node.track_id->to_string().substr(0, 8));

  std::vector<std::string> lines;
  if (!first.empty()) lines.push_back(printable(first));
  if (options.attributes)
    for (const auto& [category, value] : node.attributes)
      lines.push_back(printable(category + ": " + value));
  return lines;
}

void draw_label(cv::Mat& image, std::vector<std::string> lines, cv::Rect box,
                const cv::Scalar& color, double scale) {
  const cv::Size size = image.size();
  if ((box & cv::Rect({}, size)).empty()) return;

  const Style style(scale);
  for (std::string& line : lines) line = fitted(std::move(line), style, size.width);
  std::erase(lines, "");
  const auto room = static_cast<std::size_t>(size.height / style.line_height);
  if (lines.size() > room) lines.resize(room);
  if (lines.empty()) return;

  int width = 0;
  for (const std::string& line : lines) width = std::max(width, style.width(line));
  const cv::Rect patch =
      place({width, style.line_height * static_cast<int>(lines.size())}, box, size);
  cv::rectangle(image, patch, color, cv::FILLED);
  cv::Point origin(patch.x + style.margin, patch.y + style.margin + style.ascent);
  for (const std::string& line : lines) {
    cv::putText(image, line, origin, kFont, style.font_scale, ink_on(color), style.thickness,
                cv::LINE_AA);
    origin.y += style.line_height;
  }
}

}  // namespace vcap
