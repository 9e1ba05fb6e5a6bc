// SPDX-License-Identifier: Apache-2.0 Shared by the readers of network outputs.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/backends/detection.hpp"
#include "vcap/backends/detection_filter.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"

namespace vcap::reading {

using Shape = std::vector<std::size_t>;

/// Throws EngineError (invalid_model_spec) with `what` and the name of the reader.
[[noreturn]] void refuse_setting(std::string_view reader, const std::string& what);
void require_fraction(std::string_view reader, std::string_view setting, double value);
void require_positive(std::string_view reader, std::string_view setting, double value);
void require_classes(std::string_view reader, std::size_t classes);
/// A stride or a side of an input: a whole number of 1 to 65536.
void require_side(std::string_view reader, std::string_view setting, int value);
void require_filter(std::string_view reader, const DetectionFilter& filter);

/// Throws EngineError (model_output) that names the reader, the output, its shape and the shape
/// wanted; `remedy` says what to do.
[[noreturn]] void refuse_shape(std::string_view reader, const TensorView& tensor,
                               std::string_view wanted, std::string_view remedy);

/// Throws EngineError (model_output) for a confident candidate whose label is not in the list.
[[noreturn]] void refuse_label(std::string_view reader, double label, std::size_t classes,
                               std::string_view remedy);

/// The output. Throws EngineError (model_output) if it is absent, or if its number of values does
/// not fit its shape.
const TensorView& output(std::string_view reader, const ModelOutputs& outputs,
                         const OutputRef& ref);

/// The shape without leading ones, down to `rank` dimensions; `nullopt` if it has another rank.
std::optional<Shape> shape_of_rank(const TensorView& tensor, std::size_t rank);

/// Whether all dimensions but one are 1, so that the values are a vector.
bool is_vector(const TensorView& tensor);

inline bool all_finite(std::span<const float> values) {
  for (const float value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The value as a probability, bounded to 0…1 against rounding. It must not be NaN.
inline double probability(double value) { return value < 0 ? 0 : value > 1 ? 1 : value; }

/// exp(v − max), divided by the sum over all values. Requires finite values.
std::vector<double> softmax(std::span<const float> values);

/// The index of the greatest value; NaN values are ignored. There must be values.
std::size_t greatest(std::span<const float> values);

/// The box around a centre.
inline BoundingBox centred(double x, double y, double width, double height) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

inline bool is_finite(const BoundingBox& box) {
  return std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) &&
         std::isfinite(box.y2);
}

/// The box's part within the picture.
BoundingBox clipped(const BoundingBox& box, cv::Size picture);

/// Collects a detector's candidates and gives those that pass the filter.
class Candidates {
 public:
  Candidates(const ModelOutputs& outputs, const DetectionFilter& filter)
      : outputs_(outputs), filter_(filter) {}

  /// Whether add() considers a candidate of that confidence. false for NaN.
  bool wants(double confidence) const { return confidence >= filter_.threshold; }

  /// Adds a candidate in pixels of the model's input, if all its numbers are finite, its box has an
  /// area, and it is confident enough.
  void add(const BoundingBox& box, std::size_t label, double confidence,
           std::vector<Keypoint> keypoints = {});

  /// How overlapping candidates become one: the best of them, or the mean weighted by confidence.
  enum class Merge { best, weighted };

  /// The candidates left after suppression, by falling confidence, not yet cut to the picture.
  Detections suppressed(Merge merge = Merge::best) &&;
  /// The same, cut to the picture as the filter says.
  Detections finish() &&;

 private:
  const ModelOutputs& outputs_;
  const DetectionFilter& filter_;
  Detections found_;
};

/// Cuts boxes to the picture if the filter says so. Then drops boxes without area, and all but the
/// best `max_detections`.
void clip(Detections& detections, const ModelOutputs& outputs, const DetectionFilter& filter);

}  // namespace vcap::reading
