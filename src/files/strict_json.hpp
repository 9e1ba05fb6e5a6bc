// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Parses JSON that somebody else wrote: UTF-8, one value and nothing after it, no key twice in
/// an object, no more than 32 levels (the JSON library itself copies values by recursion), no
/// whole number beyond 64 bits (it would become another, rounded). Throws InvalidArgument
/// (invalid_json) with the JSON pointer or the place of what is wrong. Thread-safe.
VCAP_EXPORT nlohmann::json parse_strictly(std::string_view text);

/// `pointer` with `key` behind it, escaped as RFC 6901 says. Thread-safe.
VCAP_EXPORT std::string extend_pointer(std::string_view pointer, std::string_view key);

}  // namespace vcap
