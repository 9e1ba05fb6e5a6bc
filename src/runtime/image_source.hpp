// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/runtime/source.hpp"

namespace vcap {

/// Whether the name's extension is one of images. Thread-safe.
bool is_image_file(const std::filesystem::path& path);

/// Order of names in which numbers count as numbers: "shot2" before "shot10". A strict weak
/// order; names that differ in leading zeros alone are ordered as text. Thread-safe.
VCAP_EXPORT bool natural_less(std::string_view a, std::string_view b);

/// The images in that order, each a frame; images have no times of their own and are taken as 25
/// a second. `description` stands in messages. All throw SourceError.
std::unique_ptr<Source> open_image_files(std::vector<std::filesystem::path> files,
                                         std::string description, const SourceOptions& options);
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& folder,
                                          const SourceOptions& options);
std::unique_ptr<Source> open_image_glob(const std::string& pattern, const SourceOptions& options);

}  // namespace vcap
