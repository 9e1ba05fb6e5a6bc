// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

VCAP_EXPORT bool is_url(std::string_view text);

/// The host of a URL, without brackets around an IPv6 address; empty if it has none.
VCAP_EXPORT std::string host_of(const std::string& url);

/// The URL for messages and logs, which must not contain a camera's password. Leaves out the
/// password before the host and the values of query parameters such as ?pwd=….
VCAP_EXPORT std::string without_password(const std::string& url);

/// A line of text without the secrets of its URLs. If the end of a URL is not clear, more than
/// necessary is left out.
VCAP_EXPORT std::string without_passwords(std::string_view text);

}  // namespace vcap
