// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/json_view.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// Does the same as from_json, for a description within a larger document: messages then name the
/// place in the whole document. Throws InvalidArgument (invalid_json).
CapsuleInfo read_capsule_info(const JsonView& json);

}  // namespace vcap
