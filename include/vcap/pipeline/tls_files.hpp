// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace vcap {

/// The PEM files of a server that speaks HTTPS. They are read when it starts. Thread safety: value.
struct TlsFiles {
  std::filesystem::path certificate{};  ///< its own first, then those that lead to the authority
  std::filesystem::path key{};          ///< without a password

  bool operator==(const TlsFiles&) const = default;
};

}  // namespace vcap
