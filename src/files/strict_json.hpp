// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Parses JSON from an untrusted source: UTF-8, one value and nothing after it, no key twice in an
/// object. At most `levels` levels, some hundred, since the JSON library copies values by
/// recursion. No whole number beyond 64 bits, since it would be rounded. Throws InvalidArgument
/// (invalid_json) with the JSON pointer or position of the fault. Thread-safe.
VCAP_EXPORT nlohmann::json parse_strictly(std::string_view text, std::size_t levels = 32);

/// `pointer` extended by `key`, escaped as RFC 6901 requires. Thread-safe.
std::string extend_pointer(std::string_view pointer, std::string_view key);

}  // namespace vcap
