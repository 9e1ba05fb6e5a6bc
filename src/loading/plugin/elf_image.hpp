// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "loading/plugin/elf_dynamic.hpp"
#include "loading/plugin/elf_record.hpp"
#include "loading/plugin/elf_segments.hpp"

namespace vcap {

/// A shared library's bytes, read by address as the dynamic linker reads them.
///
/// Every read is checked against the segments, so damaged bytes give only ElfFault. Thread safety:
/// thread-safe, since it is constant.
class ElfImage {
 public:
  /// Reads header, segments, the dynamic section and the table of names. `machine`: the required
  /// e_machine, if known. `file` must outlive this. Throws ElfFault (invalid_library,
  /// unsafe_library).
  ElfImage(ElfBytes file, std::optional<unsigned> machine);

  /// e_machine, such as EM_X86_64.
  unsigned machine() const noexcept { return header_.e_machine; }
  const ElfSegments& segments() const noexcept { return segments_; }

  /// The dynamic section's values with this tag, in order.
  std::span<const std::uint64_t> all(std::int64_t tag) const noexcept { return dynamic_.all(tag); }
  /// The value of a tag that may occur once.
  std::optional<std::uint64_t> one(std::int64_t tag) const { return dynamic_.one(tag); }
  bool has(std::int64_t tag) const noexcept { return dynamic_.has(tag); }

  /// See ElfSegments.
  ElfBytes at(std::uint64_t address, std::uint64_t size, const char* what) const {
    return segments_.at(address, size, what);
  }
  ElfBytes from(std::uint64_t address, const char* what) const {
    return segments_.from(address, what);
  }
  bool is_code(std::uint64_t address) const noexcept { return segments_.is_code(address); }

  /// Whether a text begins here in the string table. It then also ends there.
  bool is_text(std::uint64_t offset) const noexcept { return offset < strings_.size(); }
  /// A text of the string table. Throws if it is not there, or if it is too long for a name.
  std::string text(std::uint64_t offset) const;
  /// The tables that were read here. Throws ElfFault (invalid_library) if one overlaps the dynamic
  /// section.
  ElfRanges tables() const;

 private:
  ElfBytes read_strings() const;

  Elf64_Ehdr header_;
  ElfSegments segments_;
  ElfDynamic dynamic_;
  ElfBytes strings_;
};

}  // namespace vcap
