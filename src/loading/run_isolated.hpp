// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "loading/capsule_code.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// The code of a capsule as the host uses it: what `run` gives, or objects that call that
/// elsewhere. The environment's VCAP_ISOLATION says which: in_process, the default, or thread. That
/// is for tests, so that whole suites show that it makes no difference. Throws InvalidArgument for
/// another value, before `run`, and what `run` throws. The room `isolation` defines this function,
/// since `loading` is below it. Thread-safe.
VCAP_EXPORT CapsuleCode run_isolated(const std::function<CapsuleCode()>& run);

}  // namespace vcap
