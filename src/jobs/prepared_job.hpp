// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "jobs/job_folder.hpp"
#include "vcap/base/export.hpp"
#include "vcap/jobs/bulk.hpp"
#include "vcap/jobs/job.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap {

/// A job that was checked, without running any code of a capsule. Thread safety: value.
struct PreparedJob {
  std::vector<Manifest> manifests{};  ///< of the capsules, in their order
  nlohmann::json stamp{};             ///< job_stamp()
  JobFolder::Claims claims{};
};

/// Throws PlanError, CapsuleLoadError, SourceError; InvalidArgument or OptionError naming the video
/// or the capsule. Thread-safe.
VCAP_EXPORT PreparedJob prepare_job(const Job& job, const LoadOptions& load);

/// What a store has of the job's videos. Throws OutputError. Thread-safe.
VCAP_EXPORT JobKept stored_before(const Job& job, const JobStore& store);

}  // namespace vcap
