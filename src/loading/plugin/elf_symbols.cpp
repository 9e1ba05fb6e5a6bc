// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_symbols.hpp"

#include "files/bytes.hpp"

namespace vcap {
namespace {

[[noreturn]] void damaged_symbol(std::uint64_t index, const std::string& fault) {
  damaged_library("symbol " + std::to_string(index) + " " + fault);
}

bool is_known_binding(unsigned binding) {
  return binding == STB_LOCAL || binding == STB_GLOBAL || binding == STB_WEAK ||
         binding == STB_GNU_UNIQUE;
}

bool is_known_type(unsigned type) { return type <= STT_TLS || type == STT_GNU_IFUNC; }

}  // namespace

ElfSymbols::ElfSymbols(const ElfImage& image) : image_(image), hash_(image) {
  const auto address = image.one(DT_SYMTAB);
  if (!address) damaged_library("table of symbols is missing (DT_SYMTAB)");
  if (image.one(DT_SYMENT) != sizeof(Elf64_Sym))
    damaged_library("table of symbols has entries of the wrong size");
  address_ = *address;
  table_ = image.at(address_, size() * sizeof(Elf64_Sym), "table of symbols");
}

Elf64_Sym ElfSymbols::operator[](std::uint64_t index) const {
  return elf_record<Elf64_Sym>(table_, index * sizeof(Elf64_Sym), "table of symbols");
}

std::string ElfSymbols::function_fault(std::string_view name) const {
  const auto index = hash_.find(name, [&](std::uint64_t one) { return this->name(one) == name; });
  const std::string shown(name);
  if (!index) return "has no symbol " + shown;
  const Elf64_Sym found = (*this)[*index];
  const unsigned binding = ELF64_ST_BIND(found.st_info);
  const unsigned visibility = ELF64_ST_VISIBILITY(found.st_other);
  if (found.st_shndx == SHN_UNDEF) return "uses the symbol " + shown + " but does not define it";
  if (binding == STB_LOCAL || visibility == STV_HIDDEN || visibility == STV_INTERNAL)
    return "does not export its symbol " + shown;
  const unsigned type = ELF64_ST_TYPE(found.st_info);
  if ((type != STT_FUNC && type != STT_NOTYPE) || !image_.is_code(found.st_value))
    return "has a symbol " + shown + " that is not a function";
  return {};
}

void ElfSymbols::check() const {
  // Relocations without a symbol name this one.
  if (!is_zero(table_.first(sizeof(Elf64_Sym)))) damaged_symbol(0, "is not empty");
  for (std::uint64_t index = 1; index < size(); ++index) check_symbol(index);
}

void ElfSymbols::check_symbol(std::uint64_t index) const {
  const Elf64_Sym symbol = (*this)[index];
  if (!image_.is_text(symbol.st_name))
    damaged_symbol(index, "has a name beyond the table of names");
  if (!is_known_binding(ELF64_ST_BIND(symbol.st_info)) ||
      !is_known_type(ELF64_ST_TYPE(symbol.st_info)))
    damaged_symbol(index, "has an unknown kind (st_info " + hexadecimal(symbol.st_info) + ")");
  if (symbol.st_shndx >= SHN_LORESERVE && symbol.st_shndx != SHN_ABS)
    damaged_symbol(index, "is in the reserved section " + hexadecimal(symbol.st_shndx));
  if (symbol.st_shndx != SHN_UNDEF) check_value(index, symbol);
}

void ElfSymbols::check_value(std::uint64_t index, const Elf64_Sym& symbol) const {
  const ElfSegments& segments = image_.segments();
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  const bool is_absolute = symbol.st_shndx == SHN_ABS;
  const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
  if (type == STT_TLS) {
    if (is_absolute || segments.thread_data_size() == 0 ||
        symbol.st_value > segments.thread_data_size())
      damaged_symbol(index, "is not in the library's thread-local data");
  } else if (is_function) {
    // The linker calls an STT_GNU_IFUNC.
    if (is_absolute || !segments.is_code(symbol.st_value))
      damaged_symbol(index,
                     "is a function at " + hexadecimal(symbol.st_value) + ", where no code is");
  } else if (!is_absolute && !segments.is_mapped(symbol.st_value)) {
    damaged_symbol(index, "is at " + hexadecimal(symbol.st_value) + ", beyond the library");
  }
}

void ElfSymbols::add_tables(ElfRanges& tables) const {
  hash_.add_tables(tables);
  tables.add(address_, table_.size(), "table of symbols");
}

}  // namespace vcap
