// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// Whether the outline is what rect_to_coords() makes of its box. Requires at least one point.
/// Thread-safe.
VCAP_EXPORT bool is_box(const Coords& coords);

/// In square pixels; of one or two points, the area of their box. Requires at least one point.
/// Thread-safe.
VCAP_EXPORT double outline_area(const Coords& coords);

}  // namespace vcap
