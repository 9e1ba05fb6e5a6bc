// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "vcap/sources/source.hpp"

namespace vcap {

/// A stored video; its frames have the container's times. Throws SourceError: source_open where
/// it cannot be read or is no video, source_empty where it has no frame in the range.
std::unique_ptr<Source> open_video_file(const std::filesystem::path& path,
                                        const SourceOptions& options);

/// A camera or clip on the network. Live, unless the container tells how many frames it has: then
/// the server waits for its reader like a disk. Throws SourceError, InvalidArgument.
std::unique_ptr<Source> open_url(const std::string& url, const SourceOptions& options);

}  // namespace vcap
