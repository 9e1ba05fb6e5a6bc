// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// The manifest's name in a capsule.
inline constexpr std::string_view kManifestName = "capsule.json";
/// The folder of libraries in a capsule; the names below it are the loader's.
inline constexpr std::string_view kLibraryFolder = "lib/";

/// Whether the name is the library folder's or below it, however its letters are written.
VCAP_EXPORT bool is_below_library_folder(std::string_view name);

/// What is wrong with an entry's name, such as `has the component ".."`; empty where nothing is.
///
/// A name is UTF-8 in Unicode's normal form NFC, its components are parted by '/', and it means and
/// shows the same on every system: no absolute path, drive, backslash, control character or mark
/// that turns the direction of writing, no empty, "." or ".." component, no component over 255
/// bytes, no more than 8 components. Thread-safe.
VCAP_EXPORT std::string entry_name_fault(std::string_view name);

/// What is wrong with names together: two that some file system takes for one, or a file that is
/// another one's folder; empty where nothing is. Letters are folded as
/// Unicode says; names are sound ones. Thread-safe.
VCAP_EXPORT std::string entry_names_fault(const std::vector<std::string_view>& names);

}  // namespace vcap
