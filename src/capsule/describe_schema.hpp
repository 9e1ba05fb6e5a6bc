// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap::detail {

/// What a schema accepts, for people: "a whole number from 1 to 9", "\"in\" or \"out\"", "an array
/// of 2, each a number". Requires an expanded schema. Thread-safe.
VCAP_EXPORT std::string describe_schema(const nlohmann::json& schema);

}  // namespace vcap::detail
