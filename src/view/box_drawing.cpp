// SPDX-License-Identifier: Apache-2.0
#include "view/box_drawing.hpp"

#include <algorithm>
#include <cmath>

#include "view/svg.hpp"

namespace vcap {
namespace {

constexpr const char* kColourA = "#d55e00";
constexpr const char* kColourB = "#0072b2";
constexpr const char* kColourSame = "#999999";

/// The part of the plane that is shown: the frame, or what surrounds the boxes if its size is not
/// known.
cv::Size size_of(const DifferingFrame& frame) {
  if (frame.resolution.area() > 0) return frame.resolution;
  double width = 1, height = 1;
  for (const DrawnPair& pair : frame.pairs)
    for (const auto& box : {pair.a, pair.b})
      if (box) {
        width = std::max(width, box->x2);
        height = std::max(height, box->y2);
      }
  constexpr double kLargest = 100'000;
  return {static_cast<int>(std::min(width, kLargest)),
          static_cast<int>(std::min(height, kLargest))};
}

void add_box(std::string& svg, const BoundingBox& box, double scale, const char* colour,
             const std::string& style) {
  if (!std::isfinite(box.x1 + box.y1 + box.x2 + box.y2)) return;
  svg += "<rect x=\"" + tenths(box.x1 * scale) + "\" y=\"" + tenths(box.y1 * scale) +
         "\" width=\"" + tenths(std::max(box.width(), 0.0) * scale) + "\" height=\"" +
         tenths(std::max(box.height(), 0.0) * scale) + "\" fill=\"none\" stroke=\"" + colour +
         "\" " + style + "/>";
}

/// The text above the box, or in it at the upper edge; white around it, so that it can be read.
void add_label(std::string& svg, const BoundingBox& box, double scale, const char* colour,
               const std::string& text) {
  if (!std::isfinite(box.x1 + box.y1)) return;
  const double y = box.y1 * scale;
  svg += "<text x=\"" + tenths(std::max(box.x1 * scale, 0.0)) + "\" y=\"" +
         tenths(y > 14 ? y - 3 : y + 12) + "\" font-size=\"11\" fill=\"" + colour +
         "\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\">" + html_text(text) +
         "</text>";
}

void add_pair(std::string& svg, const DrawnPair& pair, double scale) {
  if (pair.kind == FrameDifference::Kind::same) {
    if (const auto& box = pair.a ? pair.a : pair.b)
      add_box(svg, *box, scale, kColourSame, "stroke-width=\"1\"");
    return;
  }
  if (pair.a) add_box(svg, *pair.a, scale, kColourA, "stroke-width=\"2\" stroke-dasharray=\"5 3\"");
  if (pair.b) add_box(svg, *pair.b, scale, kColourB, "stroke-width=\"2\"");
  if (pair.kind == FrameDifference::Kind::moved)
    return;  // what a box is shows beside it, in the list
  if (pair.b)
    add_label(svg, *pair.b, scale, kColourB, pair.text);
  else if (pair.a)
    add_label(svg, *pair.a, scale, kColourA, pair.text);
}

}  // namespace

std::string box_drawing(const DifferingFrame& frame, const std::string& picture) {
  const cv::Size size = size_of(frame);
  const double scale = static_cast<double>(kBoxDrawing) / std::max({size.width, size.height, 1});
  const std::string width = tenths(size.width * scale), height = tenths(size.height * scale);
  std::string svg = "<svg viewBox=\"0 0 " + width + " " + height +
                    "\" class=\"boxes\" role=\"img\"><rect width=\"100%\" height=\"100%\" "
                    "fill=\"#f4f4f4\"/>";
  if (!picture.empty())
    svg += "<image width=\"" + width + "\" height=\"" + height + "\" href=\"" + picture + "\"/>";
  // From behind: what differs most must not be covered.
  for (auto pair = frame.pairs.rbegin(); pair != frame.pairs.rend(); ++pair)
    add_pair(svg, *pair, scale);
  return svg + "</svg>";
}

}  // namespace vcap
