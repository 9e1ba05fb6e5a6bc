// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/json_view.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// A set as manifests have it. Thread-safe.
VCAP_EXPORT nlohmann::json device_set_json(const DeviceSet& set);

/// A stencil as manifests have it: `{"offsets": [-1, 0], "edge": "repeat"}`. Thread-safe.
VCAP_EXPORT nlohmann::json stencil_json(const Stencil& stencil);
/// The reverse; does not check the offsets. Throws InvalidArgument (invalid_json). Thread-safe.
VCAP_EXPORT Stencil read_stencil(const JsonView& json);

/// Does the same as from_json, for a description within a larger document: messages then name the
/// place in the whole document. Throws InvalidArgument (invalid_json).
CapsuleInfo read_capsule_info(const JsonView& json);

}  // namespace vcap
