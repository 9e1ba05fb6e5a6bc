// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/jobs/job.hpp"

namespace vcap {

/// Checks that the job can run: the capsules fit together, and accept what each video sets for
/// them. Runs no code of a capsule. Throws PlanError, or InvalidArgument or OptionError naming the
/// video or the capsule. Thread-safe.
VCAP_EXPORT void check_job(const Job& job, const std::vector<CapsuleInfo>& capsules);

}  // namespace vcap
