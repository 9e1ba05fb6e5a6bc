// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/json_view.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/keypoint.hpp"
#include "vcap/model/node_description.hpp"
#include "vcap/model/option.hpp"
#include "vcap/model/picture_description.hpp"

namespace vcap {

// These do the same as from_json, for a value within a larger document: messages then name its
// place in the whole document. All throw InvalidArgument (invalid_json).
BoundingBox read_bounding_box(const JsonView& json);
Keypoint read_keypoint(const JsonView& json);
VCAP_EXPORT DetectionNode read_detection_node(const JsonView& json);
NodeDescription read_node_description(const JsonView& json);
Option read_option(const JsonView& json);
PictureDescription read_picture_description(const JsonView& json);
/// A type of pictures, such as "8UC3".
VCAP_EXPORT int read_picture_type(const JsonView& json);

}  // namespace vcap
