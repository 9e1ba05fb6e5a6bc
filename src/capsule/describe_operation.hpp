// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap::detail {

/// The kind of a capsule's state, for people: "stateless", "unbounded state", "bounded state,
/// warm-up of 299 frames; kept at gap, seek". Thread-safe.
VCAP_EXPORT std::string describe_state(const CapsuleInfo& info);

/// "frames -1, 0, 1 together, the nearest one beyond an edge; records wait for 1 frame more".
/// Thread-safe.
VCAP_EXPORT std::string describe_stencil(const Stencil& stencil);

/// "up to 32 inputs at once, 8 preferred". Thread-safe.
VCAP_EXPORT std::string describe_batch(const BatchSizes& batch);

/// What a capsule sees of a stream besides a single frame, one phrase each; empty if there is
/// nothing else. Thread-safe.
VCAP_EXPORT std::vector<std::string> describe_operation(const CapsuleInfo& info);

}  // namespace vcap::detail
