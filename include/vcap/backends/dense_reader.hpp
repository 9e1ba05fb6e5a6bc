// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/mat.hpp>

#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// How far each pixel is. The model defines the unit, and whether near things have greater or
/// smaller numbers. Copies share their pixels, as those of cv::Mat do. Thread safety: value.
struct VCAP_EXPORT DepthMap {
  cv::Mat1f values{};

  /// The values put to 0…1 from the least to the greatest; all 0 if they are the same.
  cv::Mat1f normalized() const;
  /// The same in 0…255, rounded, such as for a picture of the depths.
  cv::Mat1b normalized_8u() const;
};

/// How many things, such as heads, each pixel holds. Copies share their pixels, as those of cv::Mat
/// do. Thread safety: value.
struct VCAP_EXPORT DensityMap {
  cv::Mat1f values{};

  /// The sum of all values, in doubles.
  double count() const;
  /// The map in another size with the same count, up to the rounding of its floats: each value is
  /// spread evenly over its pixel. Throws InvalidArgument if the size is not positive or the map is
  /// empty.
  DensityMap resized(cv::Size size) const;
};

/// How a DepthReader reads. Thread safety: value.
struct DepthSettings {
  OutputRef output{};  ///< [1,H,W], [1,1,H,W] or [1,H,W,1]
  /// Whether values are those of the picture's pixels, linear between the cells. Otherwise they are
  /// those of the output's cells, which cover the model's input.
  bool picture_size = true;
};

/// Reads depth from one picture. Values that are NaN or infinite become 0. Thread-safe.
class VCAP_EXPORT DepthReader {
 public:
  explicit DepthReader(DepthSettings settings);

  /// Throws EngineError (model_output) if the output has another shape.
  DepthMap operator()(const ModelOutputs& outputs) const;

 private:
  DepthSettings settings_;
};

/// How a DensityReader reads. Thread safety: value.
struct DensitySettings {
  OutputRef output{};  ///< [1,H,W], [1,1,H,W] or [1,H,W,1]
  /// What values are multiplied with: 0.01 for a model that was trained on hundredfold densities.
  double factor = 1;
  /// Whether values are those of the picture's pixels; what lies outside the picture, in padding,
  /// is not counted then. Otherwise they are those of the output's cells, which cover the input.
  bool picture_size = true;
};

/// Reads density maps, by which crowds are counted. Values that are NaN or infinite become 0.
/// Source: V. Lempitsky, A. Zisserman, "Learning To Count Objects in Images", NIPS 2010.
/// Thread-safe.
class VCAP_EXPORT DensityReader {
 public:
  /// Throws EngineError (invalid_model_spec) if the factor is not a number > 0.
  explicit DensityReader(DensitySettings settings);

  /// Throws EngineError (model_output) if the output has another shape.
  DensityMap operator()(const ModelOutputs& outputs) const;

 private:
  DensitySettings settings_;
};

}  // namespace vcap
