// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <opencv2/core/hal/interface.h>
#include <nlohmann/json_fwd.hpp>
#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Which size a picture of a frame has.
enum class PictureSize {
  frame,  ///< that of the frame
  fixed,  ///< PictureDescription::fixed_size
  any     ///< may differ from frame to frame
};

/// The name in manifests, such as "frame". Thread-safe.
VCAP_EXPORT std::string_view to_string(PictureSize size) noexcept;

/// Describes a picture that a capsule gives or takes beside its nodes, such as a mask, a depth map
/// or the blurred frame. Thread safety: value.
struct PictureDescription {
  std::string name{};  ///< [A-Za-z0-9_]+; unique among the pictures of a pipeline
  int type = CV_8UC3;  ///< OpenCV's type: depth and channels
  PictureSize size = PictureSize::frame;
  cv::Size fixed_size{};  ///< if `size` is fixed: width and height in pixels, each at least 1

  bool operator==(const PictureDescription&) const = default;
};

/// OpenCV's name of a type, without CV_: "8UC3". Thread-safe.
VCAP_EXPORT std::string picture_type_text(int type);

/// "mask (8UC1, as large as the frame)", "depth (32FC1, 256 × 256)". Thread-safe.
VCAP_EXPORT std::string to_string(const PictureDescription& description);

/// Whether every picture that `given` describes is as `taken` asks for: the same name and type, and
/// a size that it allows. Thread-safe.
VCAP_EXPORT bool fits(const PictureDescription& given, const PictureDescription& taken) noexcept;

/// {"name", "type", "size"}, and "width" and "height" if the size is fixed. from_json throws
/// InvalidArgument (invalid_json) that names the wrong field by its JSON pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const PictureDescription& description);
VCAP_EXPORT void from_json(const nlohmann::json& json, PictureDescription& description);

}  // namespace vcap
