// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <nlohmann/detail/abi_macros.hpp>
#include <opencv2/core/version.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/version.hpp"

#define VCAP_STRINGIFY_EXPANDED(x) #x
#define VCAP_STRINGIFY(x) VCAP_STRINGIFY_EXPANDED(x)

/// Names everything that host and capsule must have in common so that C++ objects can pass between
/// them: vcap's own ABI (major.minor while the major is 0), the ABI of the compiler and of the
/// standard library, and the versions of the libraries in public headers.
/// It is a macro, so a capsule carries the tag of the headers that it was built with.
#define VCAP_ABI_TAG \
  "vcap" VCAP_STRINGIFY(VCAP_VERSION_MAJOR) "." VCAP_STRINGIFY(VCAP_VERSION_MINOR)        \
  "-gxxabi" VCAP_STRINGIFY(__GXX_ABI_VERSION) "-cxx11abi" VCAP_STRINGIFY(_GLIBCXX_USE_CXX11_ABI) \
  "-opencv" VCAP_STRINGIFY(CV_VERSION_MAJOR) "." VCAP_STRINGIFY(CV_VERSION_MINOR)         \
  "-json" VCAP_STRINGIFY(NLOHMANN_JSON_VERSION_MAJOR) "." VCAP_STRINGIFY(NLOHMANN_JSON_VERSION_MINOR) \
  "." VCAP_STRINGIFY(NLOHMANN_JSON_VERSION_PATCH)

namespace vcap {

/// The tag of the running library. Thread-safe.
VCAP_EXPORT std::string_view abi_tag() noexcept;

/// Operating system and processor of the running library, such as "linux-x86_64". A capsule's
/// folder below `lib/` has this name. Thread-safe.
VCAP_EXPORT std::string_view platform() noexcept;

}  // namespace vcap
