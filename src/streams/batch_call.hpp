// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "streams/frame_job.hpp"

namespace vcap {

/// Calls the capsule of the jobs' next step once for all of them (Backend::process_frames), and
/// stores the results in their records. False if the call failed, or if the backend lacks
/// `process_frames()`; the records are then unchanged. Thread safety: thread-safe for different
/// jobs.
bool call_together(std::span<const std::unique_ptr<FrameJob>> jobs, const std::string& stream_id);

}  // namespace vcap
