// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace vcap::test {

/// A clip from the folder of vtest.avi. VCAP_FOOTAGE names that file: the environment variable, or
/// else the value given to CMake. Throws if the clip is missing, so that no test passes without it.
std::filesystem::path footage(const std::string& name = "vtest.avi");

}  // namespace vcap::test
