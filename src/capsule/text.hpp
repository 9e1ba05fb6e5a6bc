// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace vcap::detail {

/// Whether it is [A-Za-z0-9_]+, which is safe in a path, on a command line and in JSON.
inline bool is_identifier(std::string_view text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace vcap::detail
