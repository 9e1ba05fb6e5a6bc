// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/error.hpp"

namespace vcap {

/// Why a library cannot be used. what() continues after its name, such as `is not an ELF file`.
class ElfFault : public std::runtime_error {
 public:
  ElfFault(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Throw ElfFault with the code of the same name.
[[noreturn]] void invalid_library(const std::string& text);
[[noreturn]] void unsafe_library(const std::string& text);

/// A shared library's bytes, read by address as the dynamic linker reads them.
///
/// Every read is checked against the segments, so damaged bytes give only ElfFault. Thread safety:
/// thread-safe, since it is constant.
class ElfImage {
 public:
  using Bytes = std::span<const std::byte>;

  /// Reads header, segments and the dynamic section. `machine`: the required e_machine, if known.
  /// Throws ElfFault (invalid_library, unsafe_library).
  ElfImage(Bytes file, std::optional<unsigned> machine);

  /// The dynamic section's values with this tag, in order.
  std::span<const std::uint64_t> all(std::int64_t tag) const noexcept;
  /// The value of a tag that may occur once. Throws if it occurs more often.
  std::optional<std::uint64_t> one(std::int64_t tag) const;
  bool has(std::int64_t tag) const noexcept { return !all(tag).empty(); }

  /// `size` bytes at an address; `what` appears in messages, such as "symbol table". Throws if they
  /// are not in one segment's part of the file.
  Bytes at(std::uint64_t address, std::uint64_t size, const char* what) const;
  /// All bytes from an address to the end of its segment's part of the file.
  Bytes from(std::uint64_t address, const char* what) const { return at(address, kToTheEnd, what); }
  /// A text of the string table. Throws if its end is not in the table, or if it is too long for a
  /// name.
  std::string text(std::uint64_t offset) const;
  /// Whether an address is in an executable segment.
  bool is_code(std::uint64_t address) const noexcept;

  /// The record at an offset. Throws if the bytes end before the record.
  template <class Record>
  static Record record(Bytes bytes, std::uint64_t offset, const char* what) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(Record)) ends_early(what);
    Record value;
    std::memcpy(&value, bytes.data() + offset, sizeof(Record));  // of any alignment
    return value;
  }

 private:
  static constexpr std::uint64_t kToTheEnd = UINT64_MAX;

  [[noreturn]] static void ends_early(const char* what);
  void check_header(const Elf64_Ehdr& header, std::optional<unsigned> machine) const;
  void read_segments(const Elf64_Ehdr& header);
  void add_load(const Elf64_Phdr& segment);
  void read_dynamic(const Elf64_Phdr& segment);

  Bytes file_;
  std::vector<Elf64_Phdr> loads_;  ///< ascending, not overlapping
  std::map<std::int64_t, std::vector<std::uint64_t>> dynamic_;
  Bytes strings_{};
};

}  // namespace vcap
