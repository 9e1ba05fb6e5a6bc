// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "vcap/base/export.hpp"

#define VCAP_VERSION_MAJOR 0
#define VCAP_VERSION_MINOR 1
#define VCAP_VERSION_PATCH 0

namespace vcap {

/// The version of the plugin contract. A host loads capsules of this version and of older versions
/// that it still supports. It refuses a capsule made for a newer version
/// (IncompatibleCapsuleError).
inline constexpr int kApiVersion = 1;

/// The version of the running library, such as "0.1.0". Thread-safe.
VCAP_EXPORT std::string_view version() noexcept;

}  // namespace vcap
