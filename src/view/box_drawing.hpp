// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "view/differing_frames.hpp"

namespace vcap {

/// Pixels of the longer side of a picture of boxes.
inline constexpr int kBoxDrawing = 480;

/// The boxes of both runs over a frame, as an SVG element: A dashed in orange, B in blue, equal
/// ones in grey. `picture`: a data URI of the frame, or empty. Thread-safe.
std::string box_drawing(const DifferingFrame& frame, const std::string& picture);

}  // namespace vcap
