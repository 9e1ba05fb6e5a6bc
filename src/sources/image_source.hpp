// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Whether the name has the extension of an image. Thread-safe.
bool is_image_file(const std::filesystem::path& path);

/// One frame. All throw SourceError.
std::unique_ptr<Source> open_image_file(const std::filesystem::path& file,
                                        const SourceOptions& options);
/// The images of a folder, or those that match, in the natural order of their names. Images have
/// no times of their own and get 25 per second. Files that cannot be read are skipped and counted,
/// and their time stays free.
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& folder,
                                          const SourceOptions& options);
std::unique_ptr<Source> open_image_glob(const std::string& pattern, const SourceOptions& options);

}  // namespace vcap
