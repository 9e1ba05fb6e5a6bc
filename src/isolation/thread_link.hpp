// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isolation/capsule_link.hpp"
#include "loading/capsule_code.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A link to a capsule's code in threads of this process: what a worker process does, without one.
/// Tests run whole suites over it. Pictures are shared, not copied. To be
/// called once. Thread-safe.
VCAP_EXPORT MakeLink thread_link(CapsuleCode code);

}  // namespace vcap
