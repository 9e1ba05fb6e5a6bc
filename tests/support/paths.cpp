// SPDX-License-Identifier: Apache-2.0
#include "support/paths.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "support/footage.hpp"

namespace vcap::test {

std::string built(const std::string& path) { return VCAP_BUILD_FOLDER "/" + path; }

std::string in_sources(const std::string& path) {
  return path.empty() ? VCAP_SOURCE_FOLDER : VCAP_SOURCE_FOLDER "/" + path;
}

std::filesystem::path footage(const std::string& name) {
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
