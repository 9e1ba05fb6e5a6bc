// SPDX-License-Identifier: Apache-2.0
#include "backends/reading.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/text.hpp"
#include "vcap/algorithms/iou.hpp"
#include "vcap/algorithms/non_max_suppression.hpp"
#include "vcap/base/error.hpp"

namespace vcap::reading {
namespace {

/// The product of the lengths; `nullopt` if it overflows.
std::optional<std::size_t> volume(const Shape& shape) {
  if (std::ranges::find(shape, std::size_t{0}) != shape.end()) return 0;
  std::size_t product = 1;
  for (const std::size_t length : shape) {
    if (product > std::numeric_limits<std::size_t>::max() / length) return std::nullopt;
    product *= length;
  }
  return product;
}

void sort_by_confidence(Detections& detections) {
  std::ranges::stable_sort(detections, std::greater<>{}, &Detection::confidence);
}

/// The indices of the detections that stay, by falling confidence.
std::vector<std::size_t> best_of_heaps(const Detections& detections,
                                       const DetectionFilter& filter) {
  std::vector<BoundingBox> boxes;
  std::vector<double> scores;
  std::vector<std::size_t> labels;
  for (const Detection& detection : detections) {
    boxes.push_back(detection.box);
    scores.push_back(detection.confidence);
    labels.push_back(detection.label);
  }
  return filter.across_classes ? non_max_suppression(boxes, scores, filter.max_overlap)
                               : non_max_suppression(boxes, scores, labels, filter.max_overlap);
}

/// The mean of some detections, weighted by their confidence. Label and confidence are those of the
/// first detection.
Detection weighted_mean(const Detections& heap) {
  Detection mean = heap.front();
  double sum = 0;
  for (const Detection& detection : heap) sum += detection.confidence;
  if (!(sum > 0)) return mean;
  const auto blend = [&](auto value) {
    double total = 0;
    for (const Detection& detection : heap)
      total += value(detection) * (detection.confidence / sum);
    return total;
  };
  mean.box = {blend([](const Detection& d) { return d.box.x1; }),
              blend([](const Detection& d) { return d.box.y1; }),
              blend([](const Detection& d) { return d.box.x2; }),
              blend([](const Detection& d) { return d.box.y2; })};
  for (std::size_t k = 0; k < mean.keypoints.size(); ++k)
    mean.keypoints[k].point = {blend([k](const Detection& d) { return d.keypoints[k].point.x; }),
                               blend([k](const Detection& d) { return d.keypoints[k].point.y; })};
  return mean;
}

/// Replaces the best detection and those that overlap it by their mean, and repeats with the rest.
Detections blended(const Detections& sorted, const DetectionFilter& filter) {
  std::vector<std::size_t> left(sorted.size()), rest;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  Detections result;
  while (!left.empty()) {
    const Detection& best = sorted[left.front()];
    Detections heap;
    rest.clear();
    for (const std::size_t i : left) {
      const bool comparable = filter.across_classes || sorted[i].label == best.label;
      const bool joins = comparable && iou(best.box, sorted[i].box) > filter.max_overlap;
      if (joins || &sorted[i] == &best)
        heap.push_back(sorted[i]);
      else
        rest.push_back(i);
    }
    result.push_back(weighted_mean(heap));
    left.swap(rest);
  }
  return result;
}

}  // namespace

void refuse_setting(std::string_view reader, const std::string& what) {
  throw EngineError(ErrorCode::invalid_model_spec, std::string(reader) + ": " + what);
}

void require_fraction(std::string_view reader, std::string_view setting, double value) {
  if (!(value >= 0 && value <= 1))
    refuse_setting(reader,
                   std::string(setting) + " " + number_text(value) + " is not within 0 to 1");
}

void require_positive(std::string_view reader, std::string_view setting, double value) {
  if (!(value > 0 && std::isfinite(value)))
    refuse_setting(reader,
                   std::string(setting) + " must be a number > 0, got " + number_text(value));
}

void require_classes(std::string_view reader, std::size_t classes) {
  if (classes == 0 || classes > 1'000'000)
    refuse_setting(reader, "classes must be within 1 to 1000000, got " + std::to_string(classes) +
                               "; give the number of the model's labels");
}

void require_side(std::string_view reader, std::string_view setting, int value) {
  if (value < 1 || value > 65536)
    refuse_setting(reader, std::string(setting) + " must be within 1 to 65536 pixels, got " +
                               std::to_string(value));
}

void require_filter(std::string_view reader, const DetectionFilter& filter) {
  require_fraction(reader, "threshold", filter.threshold);
  require_fraction(reader, "max_overlap", filter.max_overlap);
  if (filter.max_candidates == 0 || filter.max_detections == 0)
    refuse_setting(reader, "max_candidates and max_detections must be > 0, got " +
                               std::to_string(filter.max_candidates) + " and " +
                               std::to_string(filter.max_detections));
}

void refuse_shape(std::string_view reader, const TensorView& tensor, std::string_view wanted,
                  std::string_view remedy) {
  throw EngineError(ErrorCode::model_output, std::string(reader) + ": output " +
                                                 quote(tensor.name) + " has the shape " +
                                                 tensor.shape_text() + "; expected is " +
                                                 std::string(wanted) + "; " + std::string(remedy));
}

void refuse_label(std::string_view reader, double label, std::size_t classes,
                  std::string_view remedy) {
  throw EngineError(ErrorCode::model_output,
                    std::string(reader) + ": the model gave label " + number_text(label) +
                        ", but the list has " + std::to_string(classes) +
                        " labels (counted from 0); " + std::string(remedy));
}

const TensorView& output(std::string_view reader, const ModelOutputs& outputs,
                         const OutputRef& ref) {
  const TensorView* found = nullptr;
  try {
    found = ref.name.empty() ? &outputs.at(ref.index) : &outputs.at(std::string_view(ref.name));
  } catch (const EngineError& error) {
    throw EngineError(error.code(), std::string(reader) + ": " + error.what());
  }
  if (volume(found->shape) != found->values.size())
    throw EngineError(ErrorCode::model_output,
                      std::string(reader) + ": output " + quote(found->name) + " has " +
                          std::to_string(found->values.size()) + " values, which do not fill its " +
                          "shape " + found->shape_text() + "; this is a bug of the engine");
  return *found;
}

std::optional<Shape> shape_of_rank(const TensorView& tensor, std::size_t rank) {
  const Shape& shape = tensor.shape;
  if (shape.size() < rank) return std::nullopt;
  const auto surplus = static_cast<std::ptrdiff_t>(shape.size() - rank);
  const bool ones = std::all_of(shape.begin(), shape.begin() + surplus,
                                [](std::size_t length) { return length == 1; });
  if (!ones) return std::nullopt;
  return Shape(shape.begin() + surplus, shape.end());
}

bool is_vector(const TensorView& tensor) {
  return std::ranges::count_if(tensor.shape, [](std::size_t length) { return length != 1; }) <= 1;
}

std::vector<double> softmax(std::span<const float> values) {
  const double most = values.empty() ? 0 : static_cast<double>(std::ranges::max(values));
  std::vector<double> result;
  result.reserve(values.size());
  double sum = 0;
  for (const float value : values) sum += result.emplace_back(std::exp(value - most));
  for (double& value : result) value /= sum;
  return result;
}

std::size_t greatest(std::span<const float> values) {
  std::size_t best = 0;
  float most = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > most)) continue;
    most = values[i];
    best = i;
  }
  return best;
}

BoundingBox clipped(const BoundingBox& box, cv::Size picture) {
  const double width = std::max(picture.width, 0), height = std::max(picture.height, 0);
  return {std::clamp(box.x1, 0.0, width), std::clamp(box.y1, 0.0, height),
          std::clamp(box.x2, 0.0, width), std::clamp(box.y2, 0.0, height)};
}

void Candidates::add(const BoundingBox& box, std::size_t label, double confidence,
                     std::vector<Keypoint> keypoints) {
  if (!wants(confidence) || !std::isfinite(confidence)) return;
  if (!(box.width() > 0 && box.height() > 0)) return;
  BoundingBox mapped = outputs_.map.to_frame(box);
  // A map that mirrors swaps the sides.
  if (mapped.x1 > mapped.x2) std::swap(mapped.x1, mapped.x2);
  if (mapped.y1 > mapped.y2) std::swap(mapped.y1, mapped.y2);
  if (!is_finite(mapped) || !(mapped.width() > 0 && mapped.height() > 0)) return;
  if (!std::isfinite(mapped.area())) return;
  for (Keypoint& keypoint : keypoints) {
    keypoint.point = outputs_.map.to_frame(keypoint.point);
    if (!std::isfinite(keypoint.point.x) || !std::isfinite(keypoint.point.y)) return;
  }
  found_.push_back({mapped, label, probability(confidence), std::move(keypoints)});
}

Detections Candidates::suppressed(Merge merge) && {
  sort_by_confidence(found_);
  if (found_.size() > filter_.max_candidates) found_.resize(filter_.max_candidates);
  Detections result;
  if (merge == Merge::weighted) {
    result = blended(found_, filter_);
  } else if (filter_.max_overlap >= 1) {
    result = std::move(found_);
  } else {
    for (const std::size_t index : best_of_heaps(found_, filter_))
      result.push_back(std::move(found_[index]));
  }
  return result;
}

Detections Candidates::finish() && {
  Detections result = std::move(*this).suppressed();
  clip(result, outputs_, filter_);
  return result;
}

void clip(Detections& detections, const ModelOutputs& outputs, const DetectionFilter& filter) {
  if (filter.clip)
    for (Detection& detection : detections) detection.box = clipped(detection.box, outputs.picture);
  // The mean of huge boxes, and small boxes far from 0, can lose their area by rounding.
  std::erase_if(detections, [](const Detection& detection) {
    return !is_finite(detection.box) || !(detection.box.width() > 0 && detection.box.height() > 0);
  });
  if (detections.size() > filter.max_detections) detections.resize(filter.max_detections);
}

}  // namespace vcap::reading
