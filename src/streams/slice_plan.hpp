// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "streams/sliced_stream.hpp"
#include "vcap/streams/stream_config.hpp"

namespace vcap {

/// Bytes of the pixels of a frame and of the pictures that capsules of the plan give for it; as if
/// it had 1080p if the size is unknown. A picture of any size counts as one of the frame's size.
std::size_t frame_bytes(const SourceInfo& info, const CompiledPlan& compiled_plan) noexcept;

/// How many parts to cut `rows` rows into. That is `wanted`, two for each part that runs at once.
/// Fewer, if parts were too short for their warm-up and the opening of a file; more, if a part were
/// longer than `longest`. Returns 1, with the reason in `why`, if cutting is not worthwhile.
std::size_t best_parts(const SliceNeeds& needs, std::int64_t rows, std::size_t wanted,
                       std::size_t longest, std::string& why);

/// Whether SlicedStream has to run the stream.
bool asks_for_slices(const StreamConfig& config) noexcept;

/// How to cut the stream, or why it is better not cut. Throws InvalidArgument for a request that
/// cannot be met; SourceError.
std::variant<SlicedStream::Plan, std::string> plan_slices(
    const StreamConfig& config, std::shared_ptr<const RandomAccess> access,
    const CompiledPlan& compiled_plan, std::size_t cores);

}  // namespace vcap
