// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "vcap/model/bounding_box.hpp"
#include "vcap/model/keypoint.hpp"

namespace vcap {

/// What a detector found: a box with the index of its class. Thread safety: value.
struct Detection {
  BoundingBox box{};                  ///< in pixels of the picture that the model was given
  std::size_t label = 0;              ///< index into the model's list of labels
  double confidence = 0;              ///< in 0…1
  std::vector<Keypoint> keypoints{};  ///< in pixels of the picture; empty if the model has none

  bool operator==(const Detection&) const = default;
};

using Detections = std::vector<Detection>;

}  // namespace vcap
