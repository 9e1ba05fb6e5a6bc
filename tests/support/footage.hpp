// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace vcap::test {

/// A clip from the folder of vtest.avi. VCAP_FOOTAGE names that file: the environment variable, or
/// else the value given to CMake. Throws if the clip is missing, so that no test passes without it.
inline std::filesystem::path footage(const std::string& name = "vtest.avi") {
  const char* variable = std::getenv("VCAP_FOOTAGE");
  const std::filesystem::path given = variable ? variable : VCAP_FOOTAGE;
  const std::filesystem::path clip = given.parent_path() / name;
  if (given.empty() || !std::filesystem::exists(clip))
    throw std::runtime_error("this test needs " + name + ", and VCAP_FOOTAGE is \"" +
                             given.string() +
                             "\": set it to the path that cmake/footage.sh prints, in the "
                             "environment or with cmake -DVCAP_FOOTAGE=…");
  return clip;
}

}  // namespace vcap::test
