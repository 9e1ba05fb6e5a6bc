// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vcap {

/// A file that a capsule needs and does not carry: too large to ship, or not the author's to give
/// away. It is fetched once per machine, checked, and then one of the capsule's files, by `name`
/// (docs/resources.md). Thread safety: value.
struct Resource {
  /// What CapsuleFiles calls it: parts of letters, digits, '_', '-' and '.', joined by '/'.
  std::string name{};
  /// https://… or file:///…; http://… on this machine's loopback alone.
  std::string url{};
  std::string sha256{};    ///< 64 lower-case hexadecimal digits
  std::uint64_t size = 0;  ///< in bytes, from 1 to 1 TiB

  bool operator==(const Resource&) const = default;
};

}  // namespace vcap
