// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loading/capsule_code.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// The code of a capsule as the host uses it: the author's objects themselves, or such as call them
/// elsewhere. The room `isolation` defines it, since `loading` is below that. Thread-safe.
VCAP_EXPORT CapsuleCode isolated(CapsuleCode code);

}  // namespace vcap
