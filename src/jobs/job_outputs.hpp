// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jobs/job_folder.hpp"
#include "records/record_counts.hpp"
#include "vcap/base/export.hpp"
#include "vcap/jobs/job.hpp"

namespace vcap {

/// A slice's files, in the folder of its result.
inline constexpr const char* kSliceRecords = "records.jsonl";
inline constexpr const char* kSliceClip = "clip.mp4";

/// The names of a video's outputs. Thread-safe.
VCAP_EXPORT std::vector<std::string> output_names(const Job::Outputs& wanted,
                                                  const std::string& video);

/// Makes the outputs of a video of which all slices have results, and marks it as finished. Returns
/// its total counts. Throws OutputError. Only one thread at a time for the same video.
VCAP_EXPORT RecordCounts finish_outputs(JobFolder& folder, const Job::Outputs& wanted,
                                        const std::string& video);

}  // namespace vcap
