// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/landmark_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backends/reading.hpp"
#include "base/text.hpp"

namespace vcap {
namespace {

constexpr std::string_view kLandmark = "LandmarkReader";
constexpr std::string_view kHeatmap = "HeatmapReader";

void require_names(std::string_view reader, const std::vector<std::string>& names) {
  if (names.empty()) reading::refuse_setting(reader, "names is empty; name each of the points");
}

/// The numbers of an output of certainties, one for each of `count` points.
std::span<const float> certainties(const CertaintyOutput& certainty, const ModelOutputs& outputs,
                                   std::size_t count) {
  const TensorView& tensor = reading::output(kLandmark, outputs, certainty.output);
  if (tensor.values.size() != count || !reading::is_vector(tensor))
    reading::refuse_shape(kLandmark, tensor, "[1," + std::to_string(count) + "]",
                          "set names and the outputs of certainties to the model's");
  return tensor.values;
}

/// The certainty of an output's value; NaN if the value is not finite.
double certainty_of(float value, bool sigmoid) {
  if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
  return sigmoid ? reading::sigmoid(value) : reading::probability(value);
}

std::span<const float> point_values(const LandmarkSettings& settings, const ModelOutputs& outputs) {
  const TensorView& tensor = reading::output(kLandmark, outputs, settings.points);
  const std::size_t count = settings.names.size();
  const bool rows = reading::shape_of_rank(tensor, 2) == reading::Shape{count, settings.values};
  const bool flat = reading::is_vector(tensor) && tensor.values.size() == count * settings.values;
  if (!rows && !flat)
    reading::refuse_shape(kLandmark, tensor,
                          "[1," + std::to_string(count * settings.values) + "] or [1," +
                              std::to_string(count) + "," + std::to_string(settings.values) +
                              "] for " + std::to_string(count) + " points",
                          "set names and values to the model's");
  return tensor.values;
}

}  // namespace

LandmarkReader::LandmarkReader(LandmarkSettings settings) : settings_(std::move(settings)) {
  require_names(kLandmark, settings_.names);
  reading::require_fraction(kLandmark, "threshold", settings_.threshold);
  if (settings_.values < 2 || settings_.values > 1000)
    reading::refuse_setting(kLandmark, "values must be within 2 to 1000, got " +
                                           std::to_string(settings_.values) + "; x and y are two");
  const std::pair<const char*, std::optional<std::size_t>> places[] = {
      {"z", settings_.z}, {"visibility", settings_.visibility}, {"presence", settings_.presence}};
  for (const auto& [name, place] : places)
    if (place && (*place < 2 || *place >= settings_.values))
      reading::refuse_setting(kLandmark, std::string(name) + " has index " +
                                             std::to_string(*place) +
                                             ", but must be at least 2 and below values, " +
                                             std::to_string(settings_.values));
}

std::optional<Landmarks> LandmarkReader::operator()(const ModelOutputs& outputs) const {
  const std::size_t count = settings_.names.size();
  const std::span<const float> points = point_values(settings_, outputs);
  std::span<const float> visibilities, presences;
  if (settings_.visibility_output)
    visibilities = certainties(*settings_.visibility_output, outputs, count);
  if (settings_.presence_output)
    presences = certainties(*settings_.presence_output, outputs, count);

  Landmarks result;
  if (settings_.flag) {
    const float flag = certainties(*settings_.flag, outputs, 1).front();
    result.confidence = certainty_of(flag, settings_.flag->sigmoid);
    if (!(result.confidence >= settings_.threshold)) return std::nullopt;
  }
  const double x_unit = settings_.relative ? outputs.input.width : 1;
  const double y_unit = settings_.relative ? outputs.input.height : 1;
  for (std::size_t k = 0; k < count; ++k) {
    if (settings_.names[k].empty()) continue;
    const auto raw = points.subspan(k * settings_.values, settings_.values);
    Keypoint keypoint{.name = settings_.names[k],
                      .point = outputs.map.to_frame(cv::Point2d(raw[0] * x_unit, raw[1] * y_unit))};
    bool finite = std::isfinite(keypoint.point.x) && std::isfinite(keypoint.point.y);
    if (settings_.z) {
      keypoint.z = raw[*settings_.z] * x_unit * std::abs(outputs.map.x_scale);
      finite = finite && std::isfinite(*keypoint.z);
    }
    const auto limit = [&](double certainty) {
      finite = finite && std::isfinite(certainty);
      keypoint.confidence = std::min(keypoint.confidence.value_or(1), certainty);
    };
    if (settings_.visibility) limit(certainty_of(raw[*settings_.visibility], true));
    if (settings_.presence) limit(certainty_of(raw[*settings_.presence], true));
    if (!visibilities.empty())
      limit(certainty_of(visibilities[k], settings_.visibility_output->sigmoid));
    if (!presences.empty()) limit(certainty_of(presences[k], settings_.presence_output->sigmoid));
    if (finite) result.keypoints.push_back(std::move(keypoint));
  }
  return result;
}

HeatmapReader::HeatmapReader(HeatmapSettings settings) : settings_(std::move(settings)) {
  require_names(kHeatmap, settings_.names);
  reading::require_fraction(kHeatmap, "threshold", settings_.threshold);
  reading::require_fraction(kHeatmap, "offset", settings_.offset);
}

std::vector<Keypoint> HeatmapReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& tensor = reading::output(kHeatmap, outputs, settings_.output);
  const auto shape = reading::shape_of_rank(tensor, 3);
  const std::size_t count = settings_.names.size();
  if (!shape || (*shape)[0] != count || (*shape)[1] == 0 || (*shape)[2] == 0)
    reading::refuse_shape(kHeatmap, tensor, "[1," + std::to_string(count) + ",H,W]",
                          "set names to the model's points");
  const std::size_t rows = (*shape)[1], columns = (*shape)[2];
  std::vector<Keypoint> result;
  for (std::size_t k = 0; k < count; ++k) {
    const auto map = tensor.values.subspan(k * rows * columns, rows * columns);
    if (!reading::all_finite(map)) continue;
    const std::size_t best = reading::greatest(map);
    if (!(map[best] >= settings_.threshold)) continue;
    const auto place = [&](std::size_t at, std::size_t length, std::size_t step) {
      double cell = static_cast<double>(at) + settings_.offset;
      if (at > 0 && at + 1 < length) {
        const float before = map[best - step], after = map[best + step];
        if (after > before) cell += 0.25;
        if (after < before) cell -= 0.25;
      }
      return cell / static_cast<double>(length);
    };
    const cv::Point2d point(place(best % columns, columns, 1) * outputs.input.width,
                            place(best / columns, rows, columns) * outputs.input.height);
    result.push_back({.name = settings_.names[k],
                      .point = outputs.map.to_frame(point),
                      .confidence = reading::probability(map[best])});
  }
  return result;
}

}  // namespace vcap
