// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// Natural order of names, in which digits compare as numbers: "shot2" before "shot10". A strict
/// weak order; names that differ only in leading zeros are ordered as text. Thread-safe.
VCAP_EXPORT bool natural_less(std::string_view a, std::string_view b);

/// The regular files directly in the folder, in natural order. Hidden files, which tools make
/// ("._shot.jpg"), are left out. Throws SourceError (source_open).
VCAP_EXPORT std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

/// The extensions, in lower case, by which a file in a folder counts as a video.
VCAP_EXPORT std::span<const std::string_view> video_extensions() noexcept;
/// Whether the file has one of them, in any case.
VCAP_EXPORT bool is_video_file(const std::filesystem::path& file);

/// Whether the text has glob wildcards.
VCAP_EXPORT bool is_glob(std::string_view text);
/// The regular files that match, in natural order. Thread-safe.
VCAP_EXPORT std::vector<std::filesystem::path> files_matching(const std::string& pattern);

}  // namespace vcap
