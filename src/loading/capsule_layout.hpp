// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "files/entry_name.hpp"

namespace vcap {

/// The manifest's name in a capsule.
inline constexpr std::string_view kManifestName = "capsule.json";
/// The folder of libraries in a capsule; names below it are reserved for the loader.
inline constexpr std::string_view kLibraryFolder = "lib/";

/// Whether the name is the library folder or below it, ignoring case. Thread-safe.
inline bool is_below_library_folder(std::string_view name) {
  const std::string text = folded_name(name);
  return text.starts_with(kLibraryFolder) || text + '/' == kLibraryFolder;
}

}  // namespace vcap
