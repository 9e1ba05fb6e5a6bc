// SPDX-License-Identifier: Apache-2.0
#include "support/video.hpp"

#include <cstdlib>
#include <stdexcept>

namespace vcap::bench {

std::string footage() {
  const char* path = std::getenv("VCAP_FOOTAGE");
  if (!path) throw std::runtime_error("VCAP_FOOTAGE names no video; cmake/footage.sh prints one");
  return path;
}

}  // namespace vcap::bench
