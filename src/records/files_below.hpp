// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

namespace vcap {

/// Calls `take` with each regular file in and below the folder, and its path below it. Hidden files
/// and folders are left out. Throws SourceError (source_open).
void each_file_below(const std::filesystem::path& folder,
                     const std::function<void(const std::filesystem::path& file,
                                              const std::filesystem::path& below)>& take);

}  // namespace vcap
