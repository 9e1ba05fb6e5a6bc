// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/jobs/job.hpp"

namespace vcap {

/// That the job can be: capsules fit together, and take what each video sets for them. Runs no code
/// of theirs. Throws InvalidArgument, OptionError, PlanError, naming the video. Thread-safe.
VCAP_EXPORT void check_job(const Job& job, const std::vector<CapsuleInfo>& capsules);

}  // namespace vcap
