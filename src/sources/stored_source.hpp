// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>

#include "sources/stored_frames.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Throws InvalidArgument naming the option whose value is not possible.
void check(const SourceOptions& options);

/// Throws InvalidArgument naming an option that is set but only stored sources have.
void refuse_range(const SourceOptions& options, const std::string& name);

/// A source that waits for its reader and gives the pictures that the options select. Decodes the
/// first picture now, so that a source that cannot be decoded fails here. interrupt() requests
/// `stop`, which also ends the pictures. Throws SourceError: source_empty if no picture is in
/// range.
std::unique_ptr<Source> make_stored_source(std::unique_ptr<StoredFrames> frames,
                                           const SourceOptions& options, std::stop_source stop);

}  // namespace vcap
