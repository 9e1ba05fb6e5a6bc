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

/// What keeps a library from being used: what() goes on from its name, such as `is no ELF file`.
class ElfFault : public std::runtime_error {
 public:
  ElfFault(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Throws ElfFault with the code of that name.
[[noreturn]] void invalid_library(const std::string& text);
[[noreturn]] void unsafe_library(const std::string& text);

/// A shared library's bytes, seen as the dynamic linker will see them: by address.
///
/// Every read is checked against the segments, so that damaged bytes give ElfFault and nothing
/// else. Thread safety: thread-safe, being constant.
class ElfImage {
 public:
  using Bytes = std::span<const std::byte>;

  /// Reads header, segments and the dynamic section. `machine` is what e_machine must be, where
  /// that is known. Throws ElfFault (invalid_library, unsafe_library).
  ElfImage(Bytes file, std::optional<unsigned> machine);

  /// The dynamic section's entries of this kind, in order.
  const std::vector<std::uint64_t>& all(std::int64_t tag) const noexcept;
  /// The value of a kind that may be there once. Throws where there are several.
  std::optional<std::uint64_t> one(std::int64_t tag) const;
  bool has(std::int64_t tag) const noexcept { return !all(tag).empty(); }

  /// `size` bytes at an address; `what` stands in messages, such as "symbol table". Throws where
  /// they do not lie in one segment's part of the file.
  Bytes at(std::uint64_t address, std::uint64_t size, const char* what) const;
  /// All bytes from an address to the end of its segment's part of the file.
  Bytes from(std::uint64_t address, const char* what) const { return at(address, kToTheEnd, what); }
  /// A text of the string table. Throws where it does not end there, or is too long for a name.
  std::string text(std::uint64_t offset) const;
  /// Whether an address is in code.
  bool is_code(std::uint64_t address) const noexcept;

  /// The record at an offset. Throws where the bytes end before it does.
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
