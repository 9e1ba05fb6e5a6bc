// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/base/export.hpp"
#include "vcap/model/frame.hpp"

namespace vcap::detail {

/// Throws InvalidArgument for a frame that no capsule can be called for: a null frame, or a picture
/// that is empty or not 8-bit BGR. The message names the capsule, the frame, what its picture is
/// and the call that converts it. Allocates nothing for a good frame. Thread-safe.
VCAP_EXPORT void check_frame(const Frame& frame, const std::string& capsule);

}  // namespace vcap::detail
