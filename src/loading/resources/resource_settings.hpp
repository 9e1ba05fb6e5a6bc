// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "vcap/base/export.hpp"
#include "vcap/loading/resources/resource_options.hpp"

namespace vcap {

/// Gives a variable of the environment; null where it is not set.
using EnvironmentVariable = std::function<const char*(const char* name)>;

/// The options with what the environment says where they are empty. Throws ResourceFailure
/// (resource_cache) where no cache is named, InvalidArgument where the mirror is no URL to fetch
/// from or a number is out of range. Thread-safe.
VCAP_EXPORT ResourceOptions with_environment(ResourceOptions options,
                                             const EnvironmentVariable& variable);

}  // namespace vcap
