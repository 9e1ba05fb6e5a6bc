// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vcap {

/// The resource cache's notes on its files: how much space each has, and when it was last used. The
/// folder itself is authoritative: a lost or damaged index is rebuilt from it. Thread safety:
/// value.
struct CacheIndex {
  struct Entry {
    std::uint64_t size = 0;
    std::int64_t last_use = 0;  ///< milliseconds since 1970; all values that vcap writes differ
    bool operator==(const Entry&) const = default;
  };

  std::map<std::string, Entry> entries{};  ///< by SHA-256
  bool operator==(const CacheIndex&) const = default;

  std::uint64_t total_size() const;
  /// Sets the last use to `now` or, if the clock went back, to after all others.
  void use(const std::string& sha256, std::uint64_t size, std::int64_t now);
  /// Least recently used first.
  std::vector<std::string> oldest_first() const;
};

/// A file in the cache's folder, or a part of one.
struct CachedFile {
  std::string sha256{};
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< milliseconds since 1970
  bool is_part = false;
};

/// Reads an index that may come from another program. Throws InvalidArgument (invalid_json).
/// Thread-safe.
CacheIndex read_cache_index(std::span<const std::byte> bytes);
/// The text that read_cache_index() reads. Thread-safe.
std::string cache_index_text(const CacheIndex& index);

/// An index of what the folder holds. Sizes are those of the files; for a part, the space reserved
/// for it. The last use of a file that the index does not know is its modification time.
/// Thread-safe.
CacheIndex reconciled(const CacheIndex& index, const std::vector<CachedFile>& folder);

}  // namespace vcap
