// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/anchor_reader.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/reading.hpp"

namespace vcap {
namespace {

constexpr std::string_view kAnchor = "AnchorReader";

void check_anchors(const AnchorSettings& settings) {
  using namespace reading;
  require_classes(kAnchor, settings.classes);
  require_filter(kAnchor, settings.filter);
  const PyramidAnchors& anchors = settings.anchors;
  if (anchors.first_level < 0 || anchors.last_level > 16 ||
      anchors.first_level > anchors.last_level)
    refuse_setting(kAnchor, "levels " + std::to_string(anchors.first_level) + " to " +
                                std::to_string(anchors.last_level) +
                                " are not a range within 0 to 16");
  if (anchors.scales.empty() || anchors.ratios.empty())
    refuse_setting(kAnchor, "anchors need at least one scale and one ratio");
  if (anchors.scales.size() > 1000 || anchors.ratios.size() > 1000)
    refuse_setting(kAnchor, "anchors have " + std::to_string(anchors.scales.size()) +
                                " scales and " + std::to_string(anchors.ratios.size()) +
                                " ratios; at most 1000 of each are allowed");
  require_positive(kAnchor, "anchors.size", anchors.size);
  for (const double scale : anchors.scales) require_positive(kAnchor, "a scale", scale);
  for (const double ratio : anchors.ratios) require_positive(kAnchor, "a ratio", ratio);
  require_fraction(kAnchor, "anchors.offset", anchors.offset);
  for (const double variance : settings.variances.val)
    require_positive(kAnchor, "a variance", variance);
}

cv::Vec2d anchor_shape(const PyramidAnchors& anchors, double scale, double ratio) {
  const double side = anchors.size * scale;
  return {side / std::sqrt(ratio), side * std::sqrt(ratio)};
}

std::vector<cv::Vec2d> anchor_shapes(const PyramidAnchors& anchors) {
  std::vector<cv::Vec2d> shapes;
  if (anchors.scales_first) {
    for (const double scale : anchors.scales)
      for (const double ratio : anchors.ratios)
        shapes.push_back(anchor_shape(anchors, scale, ratio));
  } else {
    for (const double ratio : anchors.ratios)
      for (const double scale : anchors.scales)
        shapes.push_back(anchor_shape(anchors, scale, ratio));
  }
  return shapes;
}

/// The grid of a level.
struct PyramidGrid {
  double stride;
  std::size_t columns, rows;
};

std::vector<PyramidGrid> pyramid(const PyramidAnchors& anchors, cv::Size input) {
  std::vector<PyramidGrid> grids;
  for (int level = anchors.first_level; level <= anchors.last_level; ++level) {
    const std::size_t stride = std::size_t{1} << level;
    const auto cells = [stride](int pixels) {
      return (static_cast<std::size_t>(std::max(pixels, 0)) + stride - 1) / stride;
    };
    grids.push_back({static_cast<double>(stride), cells(input.width), cells(input.height)});
  }
  return grids;
}

BoundingBox decoded(const AnchorSettings& settings, std::span<const float> raw, cv::Point2d centre,
                    cv::Size2d size) {
  cv::Vec4d delta(raw[0], raw[1], raw[2], raw[3]);
  if (settings.y_first) delta = {delta[1], delta[0], delta[3], delta[2]};
  delta = delta.mul(settings.variances);
  if (settings.code == AnchorSettings::Code::centre_size)
    return reading::centred(centre.x + delta[0] * size.width, centre.y + delta[1] * size.height,
                            size.width * std::exp(delta[2]), size.height * std::exp(delta[3]));
  BoundingBox box = reading::centred(centre.x, centre.y, size.width, size.height);
  box.x1 += delta[0] * size.width;
  box.y1 += delta[1] * size.height;
  box.x2 += delta[2] * size.width;
  box.y2 += delta[3] * size.height;
  return box;
}

}  // namespace

AnchorReader::AnchorReader(AnchorSettings settings) : settings_(std::move(settings)) {
  check_anchors(settings_);
  shapes_ = anchor_shapes(settings_.anchors);
}

Detections AnchorReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& boxes = reading::output(kAnchor, outputs, settings_.boxes);
  const TensorView& scores = reading::output(kAnchor, outputs, settings_.scores);
  const std::vector<PyramidGrid> grids = pyramid(settings_.anchors, outputs.input);
  std::size_t count = 0;
  for (const PyramidGrid& grid : grids) count += grid.columns * grid.rows * shapes_.size();
  const auto require = [&](const TensorView& tensor, std::size_t columns) {
    if (reading::shape_of_rank(tensor, 2) == reading::Shape{count, columns}) return;
    reading::refuse_shape(kAnchor, tensor,
                          "[1," + std::to_string(count) + "," + std::to_string(columns) +
                              "] for an input of " + std::to_string(outputs.input.width) + "x" +
                              std::to_string(outputs.input.height) + " pixels",
                          "set anchors and classes to the model's, or exchange the outputs boxes "
                          "and scores");
  };
  require(boxes, 4);
  require(scores, settings_.classes);

  reading::Candidates candidates(outputs, settings_.filter);
  const auto read = [&](std::size_t i, cv::Point2d centre, cv::Size2d size) {
    const auto row = scores.values.subspan(i * settings_.classes, settings_.classes);
    const std::size_t best = reading::greatest(row);
    const double score = settings_.sigmoid ? reading::sigmoid(row[best]) : row[best];
    if (!candidates.wants(score)) return;
    const auto raw = boxes.values.subspan(i * 4, 4);
    if (!reading::all_finite(row) || !reading::all_finite(raw)) return;
    candidates.add(decoded(settings_, raw, centre, size), best, score);
  };
  const double offset = settings_.anchors.offset;
  std::size_t next = 0;
  for (const PyramidGrid& grid : grids)
    for (std::size_t row = 0; row < grid.rows; ++row)
      for (std::size_t column = 0; column < grid.columns; ++column)
        for (const cv::Vec2d& shape : shapes_)
          read(next++,
               {(static_cast<double>(column) + offset) * grid.stride,
                (static_cast<double>(row) + offset) * grid.stride},
               {shape[0] * grid.stride, shape[1] * grid.stride});
  return std::move(candidates).finish();
}

}  // namespace vcap
