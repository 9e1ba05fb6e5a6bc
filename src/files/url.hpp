// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

bool is_url(std::string_view text);

/// The URL as messages and logs may have it, which travel further than a camera's password should:
/// without the password before its host, and without the values of queries such as ?pwd=….
VCAP_EXPORT std::string without_password(const std::string& url);

/// Likewise a line of text in which URLs may stand. Where it is not plain where one ends, more is
/// left out than need be.
VCAP_EXPORT std::string without_passwords(std::string_view text);

}  // namespace vcap
