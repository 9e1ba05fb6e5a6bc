// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_reader.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

/// Reads the records of an archive, a part at a time, and throws the errors that name their faults.
/// Thread safety: thread-compatible.
class ArchiveWindow {
 public:
  using Bytes = std::span<const std::byte>;

  /// Both must outlive this. `capsule` begins messages.
  ArchiveWindow(const ByteReader& archive, const std::string& capsule)
      : archive_(archive), capsule_(capsule) {}

  std::uint64_t size() const noexcept { return archive_.size(); }
  /// Some bytes of the archive, valid until the next call. Throws (not_an_archive) if they are
  /// beyond its end, and as ByteReader.
  Bytes take(std::uint64_t at, std::uint64_t count);
  std::uint16_t u16(std::uint64_t at) { return static_cast<std::uint16_t>(number(at, 2)); }
  std::uint32_t u32(std::uint64_t at) { return static_cast<std::uint32_t>(number(at, 4)); }
  std::uint64_t u64(std::uint64_t at) { return number(at, 8); }

  [[noreturn]] void fail(ErrorCode code, const std::string& fault,
                         std::string_view entry = {}) const;
  /// not_an_archive
  [[noreturn]] void broken(const std::string& fault, std::string_view entry = {}) const;
  /// ambiguous_archive: another program could see other files in the archive.
  [[noreturn]] void ambiguous(const std::string& fault, std::string_view entry = {}) const;
  /// A zip archive of another form than vcap's, such as those of other zip programs.
  [[noreturn]] void not_written_by_vcap(ErrorCode code, const std::string& difference,
                                        std::string_view entry = {}) const;
  /// An entry that is not allowed.
  [[noreturn]] void refuse(ErrorCode code, std::string_view name, const std::string& fault) const;

 private:
  std::uint64_t number(std::uint64_t at, std::uint64_t count);

  const ByteReader& archive_;
  const std::string& capsule_;
  std::vector<std::byte> window_{};
  std::uint64_t begin_ = 0;  ///< of the window
};

}  // namespace vcap
