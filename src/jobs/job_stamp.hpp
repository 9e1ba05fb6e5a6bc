// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/jobs/job.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap {

/// What a job's outputs depend on: each video's size and time of change; each capsule's version and
/// the digest of its manifest, which has the digests of its files; every setting; and the version
/// of vcap. Paths are left out, so that all files may move together. Settings that only say how the
/// work is done are left out too. "videos" holds, by id, what each video's outputs depend on.
/// `manifests` are those of the capsules, in their order. Throws SourceError (source_open).
/// Thread-safe.
VCAP_EXPORT nlohmann::json job_stamp(const Job& job, const std::vector<Manifest>& manifests);

/// The size and the time of change of a video's file. Throws SourceError (source_open).
/// Thread-safe.
VCAP_EXPORT nlohmann::json file_stamp(const std::string& path);

/// The first difference between two stamps, or between two stamps of one video, with its JSON
/// pointer: `/outputs/video was false, but is now true`. If a video's file differs, only says so.
/// Empty if the stamps are equal. Thread-safe.
std::string stamp_difference(const nlohmann::json& before, const nlohmann::json& now);

}  // namespace vcap
