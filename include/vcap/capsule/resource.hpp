// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vcap {

/// A file that a capsule needs but does not contain, because it is too large to ship or because the
/// author may not distribute it. It is fetched once per machine and checked. After that it is one
/// of the capsule's files, under `name` (docs/resources.md). Thread safety: value.
struct Resource {
  /// Its name in CapsuleFiles: parts of letters, digits, '_', '-' and '.', joined by '/'.
  std::string name{};
  /// https://… or file:///…; http://… only on this machine's loopback.
  std::string url{};
  std::string sha256{};    ///< 64 lower-case hexadecimal digits
  std::uint64_t size = 0;  ///< in bytes, from 1 to 1 TiB

  bool operator==(const Resource&) const = default;
};

}  // namespace vcap
