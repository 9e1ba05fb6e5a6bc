// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/version.hpp"

#include "vcap/base/abi.hpp"

namespace vcap {

std::string_view version() noexcept {
  return VCAP_STRINGIFY(VCAP_VERSION_MAJOR) "." VCAP_STRINGIFY(
      VCAP_VERSION_MINOR) "." VCAP_STRINGIFY(VCAP_VERSION_PATCH);
}

}  // namespace vcap
