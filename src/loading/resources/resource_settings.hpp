// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "vcap/loading/resources/resource_options.hpp"

namespace vcap {

/// Returns an environment variable; null if it is not set.
using EnvironmentVariable = std::function<const char*(const char* name)>;

/// The options, with empty values taken from the environment. Throws ResourceFailure
/// (resource_cache) if no cache is named; InvalidArgument if the mirror is not a URL to fetch from,
/// or a number is out of range. Thread-safe.
ResourceOptions with_environment(ResourceOptions options, const EnvironmentVariable& variable);

}  // namespace vcap
