// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/keypoint.hpp"

namespace vcap {

/// The points of one face, hand, body or other thing that a picture shows. Thread safety: value.
struct Landmarks {
  std::vector<Keypoint> keypoints{};  ///< in pixels of the picture; only those with finite numbers
  double confidence = 1;              ///< that the thing is there at all, in 0…1

  bool operator==(const Landmarks&) const = default;
};

/// An output that says how sure the model is. Thread safety: value.
struct CertaintyOutput {
  OutputRef output{};
  bool sigmoid = true;  ///< whether its numbers are logits instead of probabilities
};

/// How a LandmarkReader reads. Thread safety: value.
///
/// A point is a row of `values` numbers, x and y first. MediaPipe's face landmarks are 468 names
/// with 3 values: z in place 2, and the flag in output 1. Its pose landmarks are 39 names with 5
/// values: z in place 2, visibility in 3, presence in 4. Their flag has no sigmoid.
struct LandmarkSettings {
  OutputRef points{};  ///< [1,K·D] or [1,K,D]
  /// The names of the K points, in the model's order. Points with an empty name are not given.
  std::vector<std::string> names{};
  std::size_t values = 2;  ///< D, the numbers of a point
  bool relative = false;   ///< whether coordinates are fractions of the input instead of its pixels
  std::optional<std::size_t> z{};           ///< the place of z in a point's numbers
  std::optional<std::size_t> visibility{};  ///< the place of the logit that the point is not hidden
  std::optional<std::size_t> presence{};    ///< the place of the logit that it is in the picture
  std::optional<CertaintyOutput> visibility_output{};  ///< [1,K], if it is an output of its own
  std::optional<CertaintyOutput> presence_output{};    ///< [1,K], if it is an output of its own
  std::optional<CertaintyOutput> flag{};               ///< [1,1]: whether the thing is there
  double threshold = 0.5;  ///< the minimum confidence of the flag, in 0…1
};

/// Reads landmarks that the network gives as numbers. A keypoint's confidence is the least of the
/// visibilities and presences that the settings name. z is in pixels of the picture, scaled as x
/// is. Keypoints may lie outside the picture. Thread-safe.
class VCAP_EXPORT LandmarkReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit LandmarkReader(LandmarkSettings settings);

  /// `nullopt` if the flag is below the threshold or NaN. Throws EngineError (model_output) if an
  /// output does not fit the names and values.
  std::optional<Landmarks> operator()(const ModelOutputs& outputs) const;

 private:
  LandmarkSettings settings_;
};

/// How a HeatmapReader reads. Thread safety: value.
struct HeatmapSettings {
  OutputRef output{};                ///< [1,K,H,W]: a map for each point
  std::vector<std::string> names{};  ///< of the K points, in the model's order
  double threshold = 0;              ///< the minimum height of a peak, in 0…1
  /// The place of a peak in its cell, in 0…1; ½ is the middle. 0 is for models whose maps were made
  /// with cell i at pixel i·stride, such as SimpleBaseline and HRNet.
  double offset = 0.5;
};

/// Reads keypoints from heat maps. A keypoint is at its map's greatest value, moved by a quarter of
/// a cell to the higher neighbour on each axis. Its confidence is that value. Points below the
/// threshold are left out.
///
/// Source: B. Xiao et al., "Simple Baselines for Human Pose Estimation and Tracking", ECCV 2018.
/// Thread-safe.
class VCAP_EXPORT HeatmapReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit HeatmapReader(HeatmapSettings settings);

  /// Keypoints in pixels of the picture, in the order of the names. Throws EngineError
  /// (model_output) if the output has another shape.
  std::vector<Keypoint> operator()(const ModelOutputs& outputs) const;

 private:
  HeatmapSettings settings_;
};

}  // namespace vcap
