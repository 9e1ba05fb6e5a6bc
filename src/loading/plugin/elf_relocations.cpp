// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_relocations.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace vcap {
namespace {

/// What the linker does for a relocation.
enum class RelocationKind {
  nothing,
  relative,       ///< writes an address within the library
  indirect,       ///< calls a function of the library, and writes what it returns
  address,        ///< writes a symbol's address and an addend
  symbol,         ///< writes a symbol's address
  thread,         ///< writes where a thread-local variable is
  thread_lookup,  ///< the same, of 16 bytes
};

struct RelocationType {
  std::uint32_t number;
  RelocationKind kind;
};
constexpr RelocationType kX86Types[] = {{R_X86_64_NONE, RelocationKind::nothing},
                                        {R_X86_64_64, RelocationKind::address},
                                        {R_X86_64_GLOB_DAT, RelocationKind::symbol},
                                        {R_X86_64_JUMP_SLOT, RelocationKind::symbol},
                                        {R_X86_64_RELATIVE, RelocationKind::relative},
                                        {R_X86_64_IRELATIVE, RelocationKind::indirect},
                                        {R_X86_64_DTPMOD64, RelocationKind::thread},
                                        {R_X86_64_DTPOFF64, RelocationKind::thread},
                                        {R_X86_64_TPOFF64, RelocationKind::thread},
                                        {R_X86_64_TLSDESC, RelocationKind::thread_lookup}};
constexpr RelocationType kAarch64Types[] = {{R_AARCH64_NONE, RelocationKind::nothing},
                                            {R_AARCH64_ABS64, RelocationKind::address},
                                            {R_AARCH64_GLOB_DAT, RelocationKind::symbol},
                                            {R_AARCH64_JUMP_SLOT, RelocationKind::symbol},
                                            {R_AARCH64_RELATIVE, RelocationKind::relative},
                                            {R_AARCH64_IRELATIVE, RelocationKind::indirect},
                                            {R_AARCH64_TLS_DTPMOD, RelocationKind::thread},
                                            {R_AARCH64_TLS_DTPREL, RelocationKind::thread},
                                            {R_AARCH64_TLS_TPREL, RelocationKind::thread},
                                            {R_AARCH64_TLSDESC, RelocationKind::thread_lookup}};

/// Empty for a processor that vcap does not know; its libraries are only packed here.
std::span<const RelocationType> relocation_types(unsigned machine) {
  if (machine == EM_X86_64) return kX86Types;
  if (machine == EM_AARCH64) return kAarch64Types;
  return {};
}

/// A table of relocations, by the entries of the dynamic section.
struct RelocationTable {
  const char* what;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  ElfBytes bytes{};

  std::uint64_t end() const noexcept { return address + size; }
};

class RelocationCheck {
 public:
  RelocationCheck(const ElfImage& image, const ElfSymbols& symbols, ElfRanges tables)
      : image_(image),
        symbols_(symbols),
        tables_(std::move(tables)),
        types_(relocation_types(image.machine())),
        packed_(table(DT_RELR, DT_RELRSZ, "table of packed relocations")),
        data_(table(DT_RELA, DT_RELASZ, "table of relocations")),
        calls_(table(DT_JMPREL, DT_PLTRELSZ, "table of calls")) {
    for (const RelocationTable& one : {packed_, data_, calls_})
      tables_.add(one.address, one.size, one.what);
  }

  ElfUsedNames run() {
    read_called(DT_INIT_ARRAY, DT_INIT_ARRAYSZ, "list of initialisers");
    read_called(DT_FINI_ARRAY, DT_FINI_ARRAYSZ, "list of finalisers");
    check_places();
    check_ranges();
    check_packed();
    check_table(data_);
    check_table(calls_);
    for (const auto& [address, is_relocated] : called_)
      if (!is_relocated)
        damaged_library("initialiser or finaliser at " + hexadecimal(address) +
                        " is not relocated, so the linker would call a wrong address");
    check_used_names();
    return std::move(used_);
  }

 private:
  [[noreturn]] static void wrong(const RelocationTable& table, std::uint64_t index,
                                 const std::string& fault) {
    damaged_library(std::string(table.what) + ": its entry " + std::to_string(index) + " " + fault);
  }

  RelocationTable table(std::int64_t address, std::int64_t size, const char* what) const {
    RelocationTable result{.what = what};
    if (!image_.has(address)) return result;
    result.address = *image_.one(address);
    result.size = *image_.one(size);
    if (result.address % sizeof(std::uint64_t) != 0)
      damaged_library(std::string(what) + " is unaligned");
    if (result.size > 0) result.bytes = image_.at(result.address, result.size, what);
    return result;
  }

  /// Notes the places of a list of functions that the linker calls.
  void read_called(std::int64_t address, std::int64_t size, const char* what) {
    if (!image_.has(address) || *image_.one(size) == 0) return;
    const std::uint64_t begin = *image_.one(address);
    const std::uint64_t bytes = *image_.one(size);
    static_cast<void>(image_.at(begin, bytes, what));
    if (begin % sizeof(std::uint64_t) != 0) damaged_library(std::string(what) + " is unaligned");
    for (std::uint64_t at = begin; at < begin + bytes; at += sizeof(Elf64_Addr))
      called_.emplace(at, false);
  }

  /// Single addresses in the dynamic section.
  void check_places() const {
    struct Place {
      std::int64_t tag;
      bool is_code;
      const char* what;
    };
    constexpr Place kPlaces[] = {{DT_INIT, true, "initialiser (DT_INIT)"},
                                 {DT_FINI, true, "finaliser (DT_FINI)"},
                                 {DT_TLSDESC_PLT, true, "lookup of variables (DT_TLSDESC_PLT)"},
                                 {DT_TLSDESC_GOT, false, "lookup of variables (DT_TLSDESC_GOT)"},
                                 {DT_PLTGOT, false, "table of addresses (DT_PLTGOT)"}};
    for (const Place& one : kPlaces) {
      const auto address = image_.one(one.tag);
      if (!address) continue;
      const bool is_right =
          one.is_code ? image_.is_code(*address) : image_.segments().is_writable(*address, 8);
      if (!is_right)
        damaged_library(std::string(one.what) + " is at " + hexadecimal(*address) +
                        (one.is_code ? ", where no code is" : ", which is not writable"));
    }
  }

  /// If both tables end at one place, the linker subtracts the size of that of calls from the other
  /// one's.
  void check_ranges() const {
    const bool overlap = data_.size > 0 && calls_.size > 0 && data_.address < calls_.end() &&
                         calls_.address < data_.end();
    const bool same_end = image_.has(DT_RELA) && data_.end() == calls_.end();
    if (same_end ? calls_.size > data_.size : overlap)
      damaged_library("table of calls overlaps its table of relocations");
    const std::uint64_t relative = image_.one(DT_RELACOUNT).value_or(0);
    if (relative > data_.size / sizeof(Elf64_Rela))
      damaged_library("count of relative relocations (DT_RELACOUNT) is " +
                      std::to_string(relative) + ", more than there are relocations");
    for (std::uint64_t i = 0; i < relative; ++i)
      if (kind_of(data_, i, entry(data_, i)).value_or(RelocationKind::relative) !=
          RelocationKind::relative)
        wrong(data_, i, "is not relative, but DT_RELACOUNT counts it");
  }

  static Elf64_Rela entry(const RelocationTable& table, std::uint64_t index) {
    return elf_record<Elf64_Rela>(table.bytes, index * sizeof(Elf64_Rela), table.what);
  }

  std::optional<RelocationKind> kind_of(const RelocationTable& table, std::uint64_t index,
                                        const Elf64_Rela& one) const {
    if (types_.empty()) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(ELF64_R_TYPE(one.r_info));
    const auto type = std::ranges::find(types_, number, &RelocationType::number);
    if (type == types_.end())
      wrong(table, index,
            "has the type " + std::to_string(number) +
                ", which no shared library of this processor needs");
    return type->kind;
  }

  void check_table(const RelocationTable& table) {
    const std::uint64_t count = table.size / sizeof(Elf64_Rela);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Elf64_Rela one = entry(table, i);
      const std::uint64_t symbol = ELF64_R_SYM(one.r_info);
      if (symbol >= symbols_.size())
        wrong(table, i,
              "has the symbol " + std::to_string(symbol) + ", but there are only " +
                  std::to_string(symbols_.size()));
      const auto kind = kind_of(table, i, one);
      if (kind) check_entry(table, i, one, *kind);
    }
  }

  void check_entry(const RelocationTable& table, std::uint64_t index, const Elf64_Rela& one,
                   RelocationKind kind) {
    if (kind == RelocationKind::nothing) return;
    const bool is_lookup = kind == RelocationKind::thread_lookup;
    check_target(table, index, one.r_offset, is_lookup ? 16 : 8);
    const auto addend = static_cast<std::uint64_t>(one.r_addend);
    const std::uint64_t symbol = ELF64_R_SYM(one.r_info);
    bool gives_code = false;
    if (kind == RelocationKind::relative || kind == RelocationKind::indirect) {
      check_own_address(table, index, one, kind);
      gives_code = kind == RelocationKind::relative && image_.is_code(addend);
    } else if (kind == RelocationKind::address) {
      gives_code = is_own_function(symbol) && image_.is_code(symbols_[symbol].st_value + addend);
      if (gives_code && touches_called(one.r_offset, 8) && !binds_here(symbols_[symbol]))
        used_.called_functions.insert(symbols_.name(symbol));
    } else if (kind != RelocationKind::symbol) {
      check_thread_symbol(table, index, symbol);
    }
    note_called(table, index, one.r_offset, is_lookup ? 16 : 8, gives_code);
  }

  /// The addend is an address within the library.
  void check_own_address(const RelocationTable& table, std::uint64_t index, const Elf64_Rela& one,
                         RelocationKind kind) const {
    const auto address = static_cast<std::uint64_t>(one.r_addend);
    if (ELF64_R_SYM(one.r_info) != 0)
      wrong(table, index, "has a symbol, which this type does not use");
    if (kind == RelocationKind::indirect && !image_.is_code(address))
      wrong(table, index, "calls " + hexadecimal(address) + ", where no code is");
    if (!image_.segments().is_mapped(address))
      wrong(table, index, "gives the address " + hexadecimal(address) + ", beyond the library");
  }

  /// Whether the linker takes this library's symbol without looking for others.
  static bool binds_here(const Elf64_Sym& symbol) {
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    return ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || visibility == STV_HIDDEN ||
           visibility == STV_INTERNAL;
  }

  bool is_own_function(std::uint64_t index) const {
    const Elf64_Sym symbol = symbols_[index];
    return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
           ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
  }

  /// The linker divides by the alignment of the thread-local data that the symbol's library has.
  void check_thread_symbol(const RelocationTable& table, std::uint64_t index,
                           std::uint64_t symbol_index) {
    if (symbol_index == 0) {
      if (image_.segments().thread_data_size() == 0)
        wrong(table, index, "is for thread-local data, which the library does not have");
      return;
    }
    const Elf64_Sym symbol = symbols_[symbol_index];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS)
      wrong(table, index,
            "is for a thread-local variable, but its symbol " + std::to_string(symbol_index) +
                " is not one");
    if (!binds_here(symbol))
      used_.thread_variables.insert(symbols_.name(symbol_index));
    else if (image_.segments().thread_data_size() == 0)
      wrong(table, index, "is for thread-local data, which the library does not have");
  }

  /// The linker looks these up by name, and may find another symbol of the library.
  void check_used_names() const {
    if (used_.thread_variables.empty() && used_.called_functions.empty()) return;
    for (std::uint64_t index = 1; index < symbols_.size(); ++index) {
      const Elf64_Sym symbol = symbols_[index];
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
      const std::string name = symbols_.name(index);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS && used_.thread_variables.contains(name))
        damaged_library("symbol " + std::to_string(index) +
                        " has the name of a thread-local variable, but is not one");
      if (!image_.is_code(symbol.st_value) && used_.called_functions.contains(name))
        damaged_library("symbol " + std::to_string(index) +
                        " has the name of an initialiser, but is not code");
    }
  }

  /// DT_RELR: addresses, each with words of bits for the 63 places behind it.
  void check_packed() {
    const std::uint64_t count = packed_.size / sizeof(Elf64_Relr);
    std::optional<std::uint64_t> next;
    for (std::uint64_t i = 0; i < count; ++i) {
      auto word = elf_record<std::uint64_t>(packed_.bytes, i * sizeof(Elf64_Relr), packed_.what);
      if ((word & 1u) == 0) {
        check_packed_target(i, word);
        next = word + sizeof(Elf64_Addr);
        continue;
      }
      if (!next) wrong(packed_, i, "has no address before it");
      for (std::uint64_t at = *next; (word >>= 1) != 0; at += sizeof(Elf64_Addr))
        if ((word & 1u) != 0) check_packed_target(i, at);
      *next += 63 * sizeof(Elf64_Addr);
    }
  }

  void check_packed_target(std::uint64_t index, std::uint64_t address) {
    check_target(packed_, index, address, sizeof(Elf64_Addr));
    if (!touches_called(address, sizeof(Elf64_Addr))) return;
    const auto value =
        elf_record<std::uint64_t>(image_.from(address, packed_.what), 0, packed_.what);
    note_called(packed_, index, address, sizeof(Elf64_Addr), image_.is_code(value));
  }

  void check_target(const RelocationTable& table, std::uint64_t index, std::uint64_t address,
                    std::uint64_t size) const {
    if (!image_.segments().is_writable(address, size))
      wrong(table, index, "writes to " + hexadecimal(address) + ", which is not writable");
    if (const char* const other = tables_.overlapping(address, size))
      wrong(table, index, "writes to " + hexadecimal(address) + ", which is in the " + other);
  }

  bool touches_called(std::uint64_t address, std::uint64_t size) const {
    const auto first = called_.lower_bound(address - std::min<std::uint64_t>(address, 7));
    return first != called_.end() && first->first < address + size;
  }

  /// Each function that the linker calls must be relocated once, and to code.
  void note_called(const RelocationTable& table, std::uint64_t index, std::uint64_t address,
                   std::uint64_t size, bool gives_code) {
    if (!touches_called(address, size)) return;
    const auto place = called_.find(address);
    if (place == called_.end() || place->second || !gives_code)
      wrong(table, index,
            "makes the linker call a wrong address (the initialiser or finaliser at " +
                hexadecimal(address) + ")");
    place->second = true;
  }

  const ElfImage& image_;
  const ElfSymbols& symbols_;
  ElfRanges tables_;
  std::span<const RelocationType> types_;
  RelocationTable packed_;
  RelocationTable data_;
  RelocationTable calls_;
  std::map<std::uint64_t, bool> called_{};  ///< by address: whether a relocation was found
  ElfUsedNames used_{};
};

}  // namespace

ElfUsedNames check_relocations(const ElfImage& image, const ElfSymbols& symbols, ElfRanges tables) {
  return RelocationCheck(image, symbols, std::move(tables)).run();
}

}  // namespace vcap
