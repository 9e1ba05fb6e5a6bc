// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>

#include "sources/stored_frames.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Throws InvalidArgument naming the option whose value is not possible.
void check(const SourceOptions& options);

/// Throws InvalidArgument naming an option that only stored sources have, where it is set.
void refuse_range(const SourceOptions& options, const std::string& name);

/// Waits for its reader. Gives of the pictures what the options say, from the first, which is
/// decoded here, so that what cannot be is found out at the opening. Interrupting it requests
/// `stop`, by which the pictures end too. Throws SourceError: source_empty where none is in range.
std::unique_ptr<Source> make_stored_source(std::unique_ptr<StoredFrames> frames,
                                           const SourceOptions& options, std::stop_source stop);

}  // namespace vcap
