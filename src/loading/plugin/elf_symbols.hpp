// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loading/plugin/elf_hash.hpp"
#include "loading/plugin/elf_image.hpp"

namespace vcap {

/// The symbols of a library, which the linker finds by their hash tables. Thread safety:
/// thread-safe, since it is constant.
class ElfSymbols {
 public:
  /// Throws ElfFault (invalid_library) if the tables are damaged. The image must outlive this.
  explicit ElfSymbols(const ElfImage& image);

  std::uint64_t size() const noexcept { return hash_.symbol_count(); }
  /// Requires index < size().
  Elf64_Sym operator[](std::uint64_t index) const;
  std::string name(std::uint64_t index) const { return image_.text((*this)[index].st_name); }

  /// Why dlsym(3) would not find a function with this name that the library itself defines; empty
  /// if it would.
  std::string function_fault(std::string_view name) const;
  /// Checks the fields of every symbol. Throws ElfFault (invalid_library).
  void check() const;
  void add_tables(ElfRanges& tables) const;

 private:
  void check_symbol(std::uint64_t index) const;
  void check_value(std::uint64_t index, const Elf64_Sym& symbol) const;

  const ElfImage& image_;
  ElfHashTables hash_;
  std::uint64_t address_ = 0;
  ElfBytes table_{};
};

}  // namespace vcap
