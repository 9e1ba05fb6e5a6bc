// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/blaze_reader.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/reading.hpp"
#include "base/text.hpp"

namespace vcap {
namespace {

constexpr std::string_view kBlaze = "BlazeReader";
/// MediaPipe bounds scores to ±this before the sigmoid.
constexpr double kScoreBound = 100;

double blaze_scale(const BlazeAnchors& anchors, std::size_t layer) {
  const auto layers = static_cast<double>(anchors.strides.size());
  if (layers <= 1) return (anchors.min_scale + anchors.max_scale) / 2;
  return anchors.min_scale +
         (anchors.max_scale - anchors.min_scale) * static_cast<double>(layer) / (layers - 1);
}

/// Adds the sizes of the anchors that a cell has in one layer.
void add_sizes(const BlazeAnchors& anchors, std::size_t layer, std::vector<cv::Size2d>& sizes) {
  const auto add = [&](double scale, double ratio) {
    if (anchors.fixed_size)
      sizes.emplace_back(1, 1);
    else
      sizes.emplace_back(scale * std::sqrt(ratio), scale / std::sqrt(ratio));
  };
  const double scale = blaze_scale(anchors, layer);
  for (const double ratio : anchors.aspect_ratios) add(scale, ratio);
  if (anchors.interpolated_aspect_ratio <= 0) return;
  const bool last = layer + 1 == anchors.strides.size();
  const double next = last ? 1 : blaze_scale(anchors, layer + 1);
  add(std::sqrt(scale * next), anchors.interpolated_aspect_ratio);
}

std::vector<cv::Rect2d> blaze_anchors(const BlazeAnchors& settings) {
  std::vector<cv::Rect2d> anchors;
  const std::vector<int>& strides = settings.strides;
  for (std::size_t layer = 0; layer < strides.size();) {
    const int stride = strides[layer];
    std::vector<cv::Size2d> sizes;
    for (; layer < strides.size() && strides[layer] == stride; ++layer)
      add_sizes(settings, layer, sizes);
    const int columns = (settings.input.width + stride - 1) / stride;
    const int rows = (settings.input.height + stride - 1) / stride;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        for (const cv::Size2d& size : sizes)
          anchors.emplace_back((column + settings.offset) / columns, (row + settings.offset) / rows,
                               size.width, size.height);
  }
  return anchors;
}

void check_blaze(const BlazeSettings& settings) {
  using namespace reading;
  const BlazeAnchors& anchors = settings.anchors;
  require_side(kBlaze, "anchors.input's width", anchors.input.width);
  require_side(kBlaze, "anchors.input's height", anchors.input.height);
  if (anchors.strides.empty())
    refuse_setting(kBlaze, "anchors.strides is empty; give each layer's");
  double count = 0;
  for (const int stride : anchors.strides) {
    require_side(kBlaze, "a stride", stride);
    count += std::ceil(anchors.input.width / static_cast<double>(stride)) *
             std::ceil(anchors.input.height / static_cast<double>(stride)) *
             static_cast<double>(anchors.aspect_ratios.size() + 1);
  }
  if (count > 1e7) refuse_setting(kBlaze, "anchors are more than 10 million; use larger strides");
  for (const double ratio : anchors.aspect_ratios)
    require_positive(kBlaze, "an aspect ratio", ratio);
  if (!(anchors.interpolated_aspect_ratio >= 0) ||
      !std::isfinite(anchors.interpolated_aspect_ratio))
    refuse_setting(kBlaze, "anchors.interpolated_aspect_ratio must be a number >= 0, got " +
                               number_text(anchors.interpolated_aspect_ratio));
  require_fraction(kBlaze, "anchors.offset", anchors.offset);
  require_positive(kBlaze, "anchors.min_scale", anchors.min_scale);
  require_positive(kBlaze, "anchors.max_scale", anchors.max_scale);
  require_filter(kBlaze, settings.filter);
  if (settings.box == BlazeSettings::Box::full_body && settings.keypoints.size() < 2)
    refuse_setting(kBlaze, "a full-body box needs keypoints 0 and 1, and " +
                               std::to_string(settings.keypoints.size()) +
                               " are named; name both, or use the box of the network");
}

/// The square whose sides touch the circle around keypoint 0 through keypoint 1.
BoundingBox full_body_box(const Detection& detection) {
  const cv::Point2d centre = detection.keypoints[0].point;
  const cv::Point2d rim = detection.keypoints[1].point;
  const double side = 2 * std::hypot(rim.x - centre.x, rim.y - centre.y);
  return reading::centred(centre.x, centre.y, side, side);
}

}  // namespace

BlazeSettings BlazeSettings::face_short_range() {
  BlazeSettings settings;
  settings.keypoints = {"right_eye", "left_eye", "nose_tip", "mouth", "right_ear", "left_ear"};
  return settings;
}

BlazeSettings BlazeSettings::face_full_range() {
  BlazeSettings settings = face_short_range();
  settings.anchors.input = {192, 192};
  settings.anchors.strides = {4};
  settings.anchors.interpolated_aspect_ratio = 0;
  return settings;
}

BlazeSettings BlazeSettings::palm() {
  BlazeSettings settings;
  settings.anchors.input = {192, 192};
  settings.keypoints = {"wrist",
                        "index_finger_base",
                        "middle_finger_base",
                        "ring_finger_base",
                        "little_finger_base",
                        "thumb_base",
                        "thumb_knuckle"};
  return settings;
}

BlazeSettings BlazeSettings::pose() {
  BlazeSettings settings;
  settings.anchors.input = {224, 224};
  settings.anchors.strides = {8, 16, 32, 32, 32};
  settings.keypoints = {"mid_hip", "full_body_rim", "mid_shoulder", "upper_body_rim"};
  settings.box = Box::full_body;
  return settings;
}

BlazeReader::BlazeReader(BlazeSettings settings) : settings_(std::move(settings)) {
  check_blaze(settings_);
  anchors_ = blaze_anchors(settings_.anchors);
}

Detections BlazeReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& boxes = reading::output(kBlaze, outputs, settings_.boxes);
  const TensorView& scores = reading::output(kBlaze, outputs, settings_.scores);
  const std::size_t count = anchors_.size(), points = settings_.keypoints.size();
  const std::size_t width = 4 + 2 * points;
  const auto refuse = [&](const TensorView& tensor, std::size_t last) {
    reading::refuse_shape(
        kBlaze, tensor, "[1," + std::to_string(count) + "," + std::to_string(last) + "]",
        "set anchors and keypoints to the model's, or exchange the outputs boxes and scores");
  };
  if (reading::shape_of_rank(boxes, 2) != reading::Shape{count, width}) refuse(boxes, width);
  if (scores.values.size() != count || !reading::is_vector(scores)) refuse(scores, 1);

  const double input_width = outputs.input.width, input_height = outputs.input.height;
  const double unit_x = 1.0 / settings_.anchors.input.width;
  const double unit_y = 1.0 / settings_.anchors.input.height;
  reading::Candidates candidates(outputs, settings_.filter);
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(scores.values[i])) continue;
    const double bounded =
        std::clamp(static_cast<double>(scores.values[i]), -kScoreBound, kScoreBound);
    const double score = reading::sigmoid(bounded);
    if (!candidates.wants(score)) continue;
    const std::span<const float> raw = boxes.values.subspan(i * width, width);
    if (!reading::all_finite(raw)) continue;
    // An anchor's x and y are its centre.
    const cv::Rect2d& anchor = anchors_[i];
    const auto place = [&](std::size_t at) {
      return cv::Point2d((raw[at] * unit_x * anchor.width + anchor.x) * input_width,
                         (raw[at + 1] * unit_y * anchor.height + anchor.y) * input_height);
    };
    std::vector<Keypoint> keypoints(points);
    for (std::size_t k = 0; k < points; ++k)
      keypoints[k] = {.name = settings_.keypoints[k], .point = place(4 + 2 * k)};
    const cv::Point2d centre = place(0);
    candidates.add(
        reading::centred(centre.x, centre.y, raw[2] * unit_x * anchor.width * input_width,
                         raw[3] * unit_y * anchor.height * input_height),
        0, score, std::move(keypoints));
  }
  using Merge = reading::Candidates::Merge;
  const bool weighted = settings_.suppression == BlazeSettings::Suppression::weighted;
  Detections result = std::move(candidates).suppressed(weighted ? Merge::weighted : Merge::best);
  if (settings_.box == BlazeSettings::Box::full_body)
    for (Detection& detection : result) detection.box = full_body_box(detection);
  reading::clip(result, outputs, settings_.filter);
  return result;
}

}  // namespace vcap
