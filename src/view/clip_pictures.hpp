// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// A part of a frame of a clip. Thread safety: value.
struct WantedPicture {
  std::chrono::nanoseconds pts{0};
  BoundingBox box{};      ///< of the part, in pixels of `resolution`; empty: the whole frame
  cv::Size resolution{};  ///< the clip's pictures may have another
  int longest_side = 0;   ///< the picture is made smaller if one of its sides is longer
};

/// The part of the image as a data URI of a JPEG file; empty if it lies outside. `pts` is not
/// looked at. Throws OutputError if it cannot be encoded, SourceError if what encodes cannot be
/// loaded. Thread-safe.
std::string picture_uri(const cv::Mat& image, const WantedPicture& wanted);

/// The pictures as data URIs of JPEG files, in the order of `wanted`; empty if the clip ends
/// before, or if the part is empty. Reads the clip once. Throws SourceError if it cannot be opened,
/// or is not a stored one. Thread-safe.
std::vector<std::string> clip_pictures(const std::string& clip,
                                       const std::vector<WantedPicture>& wanted);

}  // namespace vcap
