// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>
#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// A named point of a node, such as a person's left knee. Thread safety: value.
struct VCAP_EXPORT Keypoint {
  std::string name{};   ///< such as "left_knee"; NodeDescription::keypoints declares it
  cv::Point2d point{};  ///< in pixels of the frame, x to the right and y down
  /// Depth in pixels of the frame, negative towards the viewer; the network defines its origin.
  std::optional<double> z{};
  std::optional<double> confidence{};  ///< in 0…1

  bool operator==(const Keypoint&) const = default;
};

/// {"name":…,"x":…,"y":…,"z":…,"confidence":…}; absent members are left out. from_json requires
/// name, x and y, and throws InvalidArgument (invalid_json) that names the wrong field.
VCAP_EXPORT void to_json(nlohmann::json& json, const Keypoint& keypoint);
VCAP_EXPORT void from_json(const nlohmann::json& json, Keypoint& keypoint);

}  // namespace vcap
