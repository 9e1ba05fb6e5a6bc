// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <opencv2/core/mat.hpp>

#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// How far away each pixel is. The model defines the unit, and whether near things have greater or
/// smaller values. Copies share their pixels, as copies of cv::Mat do. Thread safety: value.
struct VCAP_EXPORT DepthMap {
  cv::Mat1f values{};

  /// The values scaled to 0…1, from the least to the greatest; all 0 if they are equal.
  cv::Mat1f normalized() const;
  /// The same scaled to 0…255 and rounded, such as to show the depths as a picture.
  cv::Mat1b normalized_8u() const;
};

/// How many things, such as heads, each pixel holds. Copies share their pixels, as copies of
/// cv::Mat do. Thread safety: value.
struct VCAP_EXPORT DensityMap {
  cv::Mat1f values{};

  /// The sum of all values, in doubles.
  double count() const;
  /// The map in another size with the same count, up to the rounding of its floats. Each value is
  /// spread evenly over its pixel. Throws InvalidArgument if the size is not positive or the map is
  /// empty.
  DensityMap resized(cv::Size size) const;
};

/// How a DepthReader reads. Thread safety: value.
struct DepthSettings {
  OutputRef output{};  ///< [1,H,W], [1,1,H,W] or [1,H,W,1]
  /// true: one value for each pixel of the picture, interpolated linearly between cells. false: one
  /// value for each cell of the output; the cells cover the model's input.
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
  /// Values are multiplied by this: 0.01 for a model that was trained on densities times 100.
  double factor = 1;
  /// true: one value for each pixel of the picture; densities in the padding are not counted.
  /// false: one value for each cell of the output; the cells cover the model's input.
  bool picture_size = true;
};

/// Reads density maps, which are used to count crowds. Values that are NaN or infinite become 0.
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
