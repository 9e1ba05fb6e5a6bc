// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// What the cache of resources notes of its files: how much room each has been given, and when it
/// was last used. The folder is what counts: an index that is lost or damaged is made anew from it.
/// Thread safety: value.
struct VCAP_EXPORT CacheIndex {
  struct Entry {
    std::uint64_t size = 0;
    std::int64_t last_use =
        0;  ///< milliseconds since 1970; no two are the same where vcap notes it
    bool operator==(const Entry&) const = default;
  };

  std::map<std::string, Entry> entries{};  ///< by SHA-256
  bool operator==(const CacheIndex&) const = default;

  std::uint64_t total_size() const;
  /// Notes a use, now or, where the clock went back, after all others.
  void use(const std::string& sha256, std::uint64_t size, std::int64_t now);
  /// From the one that was used longest ago on.
  std::vector<std::string> oldest_first() const;
};

/// A file that the cache's folder holds, or a part of it.
struct CachedFile {
  std::string sha256{};
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< milliseconds since 1970
  bool is_part = false;
};

/// Reads an index that somebody else may have written. Throws InvalidArgument (invalid_json).
/// Thread-safe.
VCAP_EXPORT CacheIndex read_cache_index(std::span<const std::byte> bytes);
/// The reverse. Thread-safe.
VCAP_EXPORT std::string cache_index_text(const CacheIndex& index);

/// The index of what the folder holds: sizes are those of the files, and of a part the room that it
/// was given. What the index does not know was last used when it was written. Thread-safe.
VCAP_EXPORT CacheIndex reconciled(const CacheIndex& index, const std::vector<CachedFile>& folder);

}  // namespace vcap
