// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vcap::cli {

/// A text as the configuration of a NATS server has it.
inline std::string as_nats_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace vcap::cli
