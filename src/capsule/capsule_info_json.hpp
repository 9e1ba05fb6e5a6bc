// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/json_view.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// What from_json does, for a description that is part of a larger document: complaints then name
/// their place in the whole. Throws InvalidArgument (invalid_json).
CapsuleInfo read_capsule_info(const JsonView& json);

}  // namespace vcap
