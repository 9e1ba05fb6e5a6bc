// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vcap::cli {

/// An id for the stream of each source, for records and file names: the file's name without its
/// extension, the folder's name, "webcam-0", or an address without its password. Of equal ids, the
/// second gets the suffix "-2".
std::vector<std::string> stream_ids(const std::vector<std::string>& sources);

/// Whether it could be such an id: it is safe as a part of a file's name.
bool is_stream_name(const std::string& text);

/// "out/clip.mp4" becomes "out/clip-cam1.mp4".
std::filesystem::path output_of_stream(const std::filesystem::path& path,
                                       const std::string& stream_id);

}  // namespace vcap::cli
