// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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
/// Throws ElfFault (invalid_library): "is damaged: its " and the text.
[[noreturn]] void damaged_library(const std::string& text);
/// Throws ElfFault (invalid_library): the table `what` is beyond the end of the file.
[[noreturn]] void ends_early(std::string_view what);

/// "0x1f", for addresses in messages.
std::string hexadecimal(std::uint64_t value);

using ElfBytes = std::span<const std::byte>;

/// The record at an offset. Throws ElfFault if the bytes end before the record.
template <class Record>
Record elf_record(ElfBytes bytes, std::uint64_t offset, std::string_view what) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Record)) ends_early(what);
  Record value;
  std::memcpy(&value, bytes.data() + offset, sizeof(Record));  // of any alignment
  return value;
}

/// Addresses that belong to tables which the linker still reads while it applies relocations.
/// Thread safety: value.
class ElfRanges {
 public:
  /// `begin`, `size`: of the dynamic section. The linker writes addresses into it, so no other
  /// table may share its bytes.
  ElfRanges(std::uint64_t begin, std::uint64_t size)
      : ranges_{{.begin = begin, .end = begin + size, .what = "dynamic section"}} {}

  /// Throws ElfFault (invalid_library) if the table shares a byte with the dynamic section.
  void add(std::uint64_t address, std::uint64_t size, const char* what) {
    if (size == 0) return;
    const Range& dynamic = ranges_.front();
    if (address < dynamic.end && dynamic.begin < address + size)
      damaged_library(std::string(what) + " overlaps its dynamic section");
    ranges_.push_back({.begin = address, .end = address + size, .what = what});
  }
  /// The table that shares a byte with these addresses; null if there is none.
  const char* overlapping(std::uint64_t address, std::uint64_t size) const noexcept {
    for (const Range& one : ranges_)
      if (address < one.end && one.begin < address + size) return one.what;
    return nullptr;
  }

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    const char* what;
  };
  std::vector<Range> ranges_;  ///< the first is the dynamic section
};

}  // namespace vcap
