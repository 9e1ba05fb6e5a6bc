// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "vcap/base/export.hpp"

namespace vcap {

/// The real folder of the library whose code has that address. Libraries of vcap that are loaded by
/// name lie there, and the linker does not search it. Empty if it is unknown. Thread-safe.
VCAP_EXPORT std::filesystem::path folder_of_library(const void* address);

}  // namespace vcap
