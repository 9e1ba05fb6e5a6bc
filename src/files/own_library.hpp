// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

// Some libraries of vcap are not linked but loaded by name when they are first used, since they
// bring dozens of other libraries that most processes do not need. They lie beside libvcap_core,
// where the linker does not search. All functions are thread-safe.

/// The real folder of vcap's libraries. Empty if it is unknown.
VCAP_EXPORT std::filesystem::path own_folder();

/// The file name of vcap's library NAME: "libvcap_NAME.so." and the version of its ABI.
VCAP_EXPORT std::string own_library(std::string_view name);

/// A function that was looked up; if it is missing, the reason.
struct OwnFunction {
  void* address = nullptr;
  std::string failure{};
};

/// Loads vcap's library NAME permanently, and looks up its function.
VCAP_EXPORT OwnFunction find_own_function(std::string_view library, const char* function);

}  // namespace vcap
