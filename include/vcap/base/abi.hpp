// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <nlohmann/detail/abi_macros.hpp>
#include <opencv2/core/version.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/version.hpp"

#define VCAP_STRINGIFY_EXPANDED(x) #x
#define VCAP_STRINGIFY(x) VCAP_STRINGIFY_EXPANDED(x)

/// Names everything that host and capsule must have in common for C++ objects to pass between
/// them, as the compiler sees it here: vcap's own ABI (major.minor while the major is 0), the
/// compiler's and the standard library's, and the libraries that public headers show.
/// A macro, so that a capsule carries the tag of the headers it was built with.
#define VCAP_ABI_TAG \
  "vcap" VCAP_STRINGIFY(VCAP_VERSION_MAJOR) "." VCAP_STRINGIFY(VCAP_VERSION_MINOR)        \
  "-gxxabi" VCAP_STRINGIFY(__GXX_ABI_VERSION) "-cxx11abi" VCAP_STRINGIFY(_GLIBCXX_USE_CXX11_ABI) \
  "-opencv" VCAP_STRINGIFY(CV_VERSION_MAJOR) "." VCAP_STRINGIFY(CV_VERSION_MINOR)         \
  "-json" VCAP_STRINGIFY(NLOHMANN_JSON_VERSION_MAJOR) "." VCAP_STRINGIFY(NLOHMANN_JSON_VERSION_MINOR) \
  "." VCAP_STRINGIFY(NLOHMANN_JSON_VERSION_PATCH)

namespace vcap {

/// The tag of the running library. Thread-safe.
VCAP_EXPORT std::string_view abi_tag() noexcept;

/// Operating system and processor of the running library, such as "linux-x86_64": the name of
/// the folder below `lib/` in a capsule. Thread-safe.
VCAP_EXPORT std::string_view platform() noexcept;

}  // namespace vcap
