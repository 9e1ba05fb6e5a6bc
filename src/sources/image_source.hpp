// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Whether the name's extension is one of images. Thread-safe.
bool is_image_file(const std::filesystem::path& path);

/// The images as they are given, each a frame; images have no times of their own and are taken as
/// 25 a second. `description` stands in messages. All throw SourceError.
std::unique_ptr<Source> open_image_files(std::vector<std::filesystem::path> files,
                                         std::string description, const SourceOptions& options);
/// Those of a folder, or that match, in the natural order of their names.
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& folder,
                                          const SourceOptions& options);
std::unique_ptr<Source> open_image_glob(const std::string& pattern, const SourceOptions& options);

}  // namespace vcap
