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

/// What a frame's pixels take; of an unknown size, those of 1080p.
std::size_t frame_bytes(const SourceInfo& info) noexcept;

/// Into how many parts so many rows are best cut: `wanted`, which is two for each that runs at
/// once, or fewer where parts would not be worth their warm-up and the opening of a file; none
/// longer than `longest`. 1 with the reason in `why`.
std::size_t best_parts(const SliceNeeds& needs, std::int64_t rows, std::size_t wanted,
                       std::size_t longest, std::string& why);

/// Whether a stream is to be run by SlicedStream.
bool asks_for_slices(const StreamConfig& config) noexcept;

/// How it is cut, or why it is better run in one go. Throws InvalidArgument where it asks for what
/// cannot be; SourceError.
std::variant<SlicedStream::Plan, std::string> plan_slices(
    const StreamConfig& config, std::shared_ptr<const RandomAccess> access, const Program& program,
    std::size_t cores);

}  // namespace vcap
