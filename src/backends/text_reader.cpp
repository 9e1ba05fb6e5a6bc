// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/text_reader.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "backends/cells.hpp"
#include "backends/reading.hpp"
#include "base/text.hpp"

namespace vcap {
namespace {

constexpr std::string_view kTextBox = "TextBoxReader";
constexpr std::string_view kTextLine = "TextLineReader";

/// The map of probabilities, with 0 for values that are not finite.
cv::Mat1f probability_map(const TensorView& tensor) {
  const auto shape = reading::shape_of_rank(tensor, 2);
  if (!shape || (*shape)[0] == 0 || (*shape)[1] == 0 || (*shape)[0] > reading::kLongestSide ||
      (*shape)[1] > reading::kLongestSide)
    reading::refuse_shape(kTextBox, tensor, "[1,1,H,W] with sides of 1 to 32766",
                          "name the model's output of probabilities");
  cv::Mat1f map(static_cast<int>((*shape)[0]), static_cast<int>((*shape)[1]));
  std::ranges::transform(tensor.values, map.begin(), [](float value) {
    return std::isfinite(value) ? static_cast<float>(reading::probability(value)) : 0.0f;
  });
  return map;
}

/// The mean probability in a rectangle.
double mean_within(const cv::Mat1f& map, const cv::RotatedRect& rect) {
  cv::Point2f corners[4];
  rect.points(corners);
  std::vector<cv::Point> outline;
  for (const cv::Point2f& corner : corners)
    outline.emplace_back(std::clamp(cvRound(corner.x), 0, map.cols - 1),
                         std::clamp(cvRound(corner.y), 0, map.rows - 1));
  const cv::Rect area = cv::boundingRect(outline);
  for (cv::Point& corner : outline) corner -= area.tl();
  cv::Mat1b mask(area.size(), std::uint8_t{0});
  cv::fillConvexPoly(mask, outline, cv::Scalar(1));
  return cv::mean(map(area), mask)[0];
}

/// The rectangle's corners in pixels of the picture, clockwise from the left top; `nullopt` if no
/// part of it is in the picture.
std::optional<Coords> picture_corners(const cv::RotatedRect& rect, cv::Size cells,
                                      const ModelOutputs& outputs) {
  cv::Point2f points[4];
  rect.points(points);
  const double x_unit = static_cast<double>(outputs.input.width) / cells.width;
  const double y_unit = static_cast<double>(outputs.input.height) / cells.height;
  Coords corners;
  double twice_area = 0;
  for (const cv::Point2f& point : points) {
    // Contours run through the middles of cells.
    const cv::Point2d at =
        outputs.map.to_frame(cv::Point2d((point.x + 0.5) * x_unit, (point.y + 0.5) * y_unit));
    if (!std::isfinite(at.x) || !std::isfinite(at.y)) return std::nullopt;
    const double width = std::max(outputs.picture.width, 0);
    const double height = std::max(outputs.picture.height, 0);
    corners.emplace_back(std::clamp(at.x, 0.0, width), std::clamp(at.y, 0.0, height));
  }
  for (std::size_t i = 0; i < 4; ++i) twice_area += corners[i].cross(corners[(i + 1) % 4]);
  if (twice_area == 0) return std::nullopt;
  if (twice_area < 0) std::ranges::reverse(corners);
  const auto first = std::ranges::min_element(
      corners, {}, [](const cv::Point2d& corner) { return corner.x + corner.y; });
  std::rotate(corners.begin(), first, corners.end());
  return corners;
}

/// Whether the output is a table with a row for each step.
bool has_steps(const TensorView& tensor, std::size_t characters) {
  const auto& shape = tensor.shape;
  if (reading::shape_of_rank(tensor, 2) && shape.back() == characters) return true;
  return shape.size() == 3 && shape[1] == 1 && shape[2] == characters;
}

}  // namespace

TextBoxReader::TextBoxReader(TextBoxSettings settings) : settings_(std::move(settings)) {
  reading::require_fraction(kTextBox, "cell_threshold", settings_.cell_threshold);
  reading::require_fraction(kTextBox, "threshold", settings_.threshold);
  if (!(settings_.unclip_ratio >= 0 && settings_.unclip_ratio <= 100))
    reading::refuse_setting(kTextBox, "unclip_ratio " + number_text(settings_.unclip_ratio) +
                                          " is not within 0 to 100");
  if (!(settings_.min_side >= 0) || !std::isfinite(settings_.min_side))
    reading::refuse_setting(
        kTextBox, "min_side must be a number >= 0, got " + number_text(settings_.min_side));
  if (settings_.max_candidates == 0)
    reading::refuse_setting(kTextBox, "max_candidates must be > 0, got 0");
}

std::vector<TextBox> TextBoxReader::operator()(const ModelOutputs& outputs) const {
  const cv::Mat1f map = probability_map(reading::output(kTextBox, outputs, settings_.output));
  cv::Mat text;
  cv::compare(map, settings_.cell_threshold, text, cv::CMP_GT);
  std::vector<std::vector<cv::Point>> contours;
  cv::findContours(text, contours, cv::RETR_EXTERNAL, cv::CHAIN_APPROX_SIMPLE);

  std::vector<TextBox> result;
  std::size_t candidates = 0;
  for (const std::vector<cv::Point>& contour : contours) {
    cv::RotatedRect rect = cv::minAreaRect(contour);
    const float width = rect.size.width, height = rect.size.height;
    if (!(std::min(width, height) > 0) || std::min(width, height) < settings_.min_side) continue;
    if (++candidates > settings_.max_candidates) break;
    const double confidence = mean_within(map, rect);
    if (!(confidence >= settings_.threshold)) continue;
    const double grown = width * height * settings_.unclip_ratio / (width + height);
    rect.size.width += static_cast<float>(grown);
    rect.size.height += static_cast<float>(grown);
    if (auto corners = picture_corners(rect, map.size(), outputs))
      result.push_back({std::move(*corners), reading::probability(confidence)});
  }
  std::ranges::stable_sort(result, std::greater<>{}, &TextBox::confidence);
  return result;
}

TextLineReader::TextLineReader(TextLineSettings settings) : settings_(std::move(settings)) {
  if (settings_.dictionary.empty())
    reading::refuse_setting(kTextLine, "dictionary is empty; give the model's characters");
  if (settings_.blank > settings_.dictionary.size())
    reading::refuse_setting(kTextLine, "blank has index " + std::to_string(settings_.blank) +
                                           ", but there are " +
                                           std::to_string(settings_.dictionary.size() + 1) +
                                           " scores (counted from 0)");
}

RecognizedText TextLineReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& tensor = reading::output(kTextLine, outputs, settings_.output);
  const std::size_t characters = settings_.dictionary.size() + 1;
  if (!has_steps(tensor, characters))
    reading::refuse_shape(
        kTextLine, tensor,
        "[1,T," + std::to_string(characters) + "] or [T,1," + std::to_string(characters) +
            "] for " + std::to_string(settings_.dictionary.size()) + " characters and the blank",
        "give the model's dictionary, with the space if the model reads it");
  RecognizedText result;
  std::size_t last = settings_.blank, kept = 0;
  for (std::size_t begin = 0; begin < tensor.values.size(); begin += characters) {
    const auto scores = tensor.values.subspan(begin, characters);
    const std::size_t best =
        reading::all_finite(scores) ? reading::greatest(scores) : settings_.blank;
    if (best != std::exchange(last, best) && best != settings_.blank) {
      result.text += settings_.dictionary[best < settings_.blank ? best : best - 1];
      result.confidence +=
          settings_.logits ? reading::softmax(scores)[best] : reading::probability(scores[best]);
      ++kept;
    }
  }
  if (kept > 0) result.confidence /= static_cast<double>(kept);
  return result;
}

}  // namespace vcap
