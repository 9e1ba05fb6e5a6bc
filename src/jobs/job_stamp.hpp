// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/jobs/job.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap {

/// What a job's outputs depend on: videos by size and time of change, capsules by version and the
/// digest of their manifests, which have those of their files, every setting, and vcap itself.
/// Paths are left out, so that all may move together, and so is what only says how the work is
/// done. Its "videos" have what each video's outputs depend on, by id. `manifests` are the
/// capsules', in their order. Throws SourceError (source_open). Thread-safe.
VCAP_EXPORT nlohmann::json job_stamp(const Job& job, const std::vector<Manifest>& manifests);

/// The first thing in which stamps, or those of a video, differ, by its JSON pointer:
/// `/outputs/video was false, and is true`; empty where nothing does. Thread-safe.
VCAP_EXPORT std::string stamp_difference(const nlohmann::json& before, const nlohmann::json& now);

}  // namespace vcap
