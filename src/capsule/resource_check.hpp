// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"
#include "vcap/capsule/resource.hpp"

namespace vcap {

/// The size of the largest resource: far beyond any model, and sums of many still fit into 64 bits.
inline constexpr std::uint64_t kLargestResource = std::uint64_t{1} << 40;

/// Whether it is 64 lower-case hexadecimal digits; such a text is also a safe file name.
/// Thread-safe.
bool is_sha256(std::string_view text);

/// What is wrong with the URL of a resource, such as `is of the scheme "ftp"; …`; empty if it is
/// valid. Thread-safe.
VCAP_EXPORT std::string resource_url_fault(std::string_view url);

/// What is wrong with a resource by itself, with the remedy: `url "…" is …`; empty if it is valid.
/// Thread-safe.
std::string resource_fault(const Resource& resource);

}  // namespace vcap
