// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "vcap/sources/source.hpp"

namespace vcap {

/// A stored video; its frames have the container's times. Throws SourceError: source_open if it
/// cannot be read or is not a video, source_empty if no frame is in range.
std::unique_ptr<Source> open_video_file(const std::filesystem::path& path,
                                        const SourceOptions& options);

/// The same for a playlist in a file, and the files that it names. Throws as open_video_file().
std::unique_ptr<Source> open_hls_file(const std::filesystem::path& path,
                                      const SourceOptions& options);
std::unique_ptr<Source> open_ffconcat_file(const std::filesystem::path& path,
                                           const SourceOptions& options);

/// A camera or clip on the network. Live, unless its number of frames is known: then the server
/// waits for its reader, like a disk. Throws SourceError, InvalidArgument.
std::unique_ptr<Source> open_url(const std::string& url, const SourceOptions& options);
/// The same for an HLS playlist on a server, and the addresses that it names.
std::unique_ptr<Source> open_hls_url(const std::string& url, const SourceOptions& options);

}  // namespace vcap
