// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/stencil.hpp"

namespace vcap {

/// The description with the host's stencil in place of the author's. Throws InvalidArgument if the
/// capsule has no stencil, or if this one is not allowed. Thread-safe.
VCAP_EXPORT CapsuleInfo with_stencil(CapsuleInfo info, const Stencil& stencil);

}  // namespace vcap
