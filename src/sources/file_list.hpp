// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// Order of names in which numbers count as numbers: "shot2" before "shot10". A strict weak
/// order; names that differ in leading zeros alone are ordered as text. Thread-safe.
VCAP_EXPORT bool natural_less(std::string_view a, std::string_view b);

/// The regular files right in the folder, in that order. Hidden ones are some tool's business
/// ("._shot.jpg"), not the operator's, and left out. Throws SourceError (source_open).
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

/// Whether it has signs that stand for others in a glob.
bool is_glob(std::string_view text);
/// The regular files that match, in that order. Thread-safe.
std::vector<std::filesystem::path> files_matching(const std::string& pattern);

}  // namespace vcap
