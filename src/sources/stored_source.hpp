// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "sources/stored_frames.hpp"
#include "vcap/sources/random_access.hpp"
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

/// For restore_index(): the index of a stored source, of which this is the random_access(). Empty
/// if that is made without reading the source, or if the access is another one.
std::string save_index(const RandomAccess& access);

/// Makes random_access() of a stored source use an index that was saved for the same file with the
/// same options, so that the file is not scanned. False if these untrusted bytes are not an index
/// of such a file. If they are one of another file, reading by it throws SourceError
/// (source_not_as_indexed).
bool restore_index(Source& source, std::string_view saved);

}  // namespace vcap
