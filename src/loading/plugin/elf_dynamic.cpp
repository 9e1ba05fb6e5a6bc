// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_dynamic.hpp"

#include <algorithm>
#include <iterator>

namespace vcap {
namespace {

/// More than any linker writes; limits what a damaged file can cost.
constexpr std::uint64_t kMostDynamicEntries = 1024;

/// Entries that make the linker load other libraries or write to the library's own code.
struct RefusedTag {
  std::int64_t tag;
  const char* text;
};
constexpr RefusedTag kRefusedTags[] = {
    {DT_AUDIT, "requires an auditing library (DT_AUDIT)"},
    {DT_DEPAUDIT, "requires an auditing library (DT_DEPAUDIT)"},
    {DT_FILTER, "is a filter of another library (DT_FILTER)"},
    {DT_AUXILIARY, "is a filter of another one (DT_AUXILIARY)"},
    {DT_CONFIG, "names a configuration of the linker (DT_CONFIG)"},
    {DT_PREINIT_ARRAY, "has functions that run before all others (DT_PREINIT_ARRAY)"}};

/// What linkers write into shared libraries and the dynamic linker knows.
constexpr std::int64_t kKnownTags[] = {
    DT_NEEDED,       DT_PLTRELSZ,    DT_PLTGOT,      DT_HASH,       DT_STRTAB,     DT_SYMTAB,
    DT_RELA,         DT_RELASZ,      DT_RELAENT,     DT_STRSZ,      DT_SYMENT,     DT_INIT,
    DT_FINI,         DT_SONAME,      DT_RPATH,       DT_SYMBOLIC,   DT_PLTREL,     DT_DEBUG,
    DT_TEXTREL,      DT_JMPREL,      DT_BIND_NOW,    DT_INIT_ARRAY, DT_FINI_ARRAY, DT_INIT_ARRAYSZ,
    DT_FINI_ARRAYSZ, DT_RUNPATH,     DT_FLAGS,       DT_RELRSZ,     DT_RELR,       DT_RELRENT,
    DT_GNU_HASH,     DT_TLSDESC_PLT, DT_TLSDESC_GOT, DT_VERSYM,     DT_RELACOUNT,  DT_FLAGS_1,
    DT_VERDEF,       DT_VERDEFNUM,   DT_VERNEED,     DT_VERNEEDNUM};
/// On aarch64: branch targets, signed returns, and functions of other calling conventions.
constexpr std::int64_t kKnownAarch64Tags[] = {0x70000001, 0x70000003, 0x70000005};

constexpr std::uint64_t kKnownFlags =
    DF_ORIGIN | DF_SYMBOLIC | DF_TEXTREL | DF_BIND_NOW | DF_STATIC_TLS;
/// Not DF_1_INITFIRST: glibc remembers such a library even if it cannot be loaded, and would call
/// its initialisers when the next one is loaded.
constexpr std::uint64_t kKnownFlags1 =
    DF_1_NOW | DF_1_GLOBAL | DF_1_NODELETE | DF_1_NOOPEN | DF_1_ORIGIN | DF_1_NODEFLIB | DF_1_PIE;

/// A table whose address, size and kind are separate entries. The linker takes all of them if it
/// finds one, and stops the process if the size of an entry is not the known one.
struct TableTags {
  std::int64_t address, size, kind;  ///< kind: of the entry that must have the value `expected`
  std::uint64_t expected;
  std::uint64_t entry_size;
  const char* what;
};
constexpr TableTags kTableTags[] = {
    {DT_RELA, DT_RELASZ, DT_RELAENT, sizeof(Elf64_Rela), sizeof(Elf64_Rela),
     "table of relocations"},
    {DT_RELR, DT_RELRSZ, DT_RELRENT, sizeof(Elf64_Relr), sizeof(Elf64_Relr),
     "table of packed relocations"},
    {DT_JMPREL, DT_PLTRELSZ, DT_PLTREL, DT_RELA, sizeof(Elf64_Rela), "table of calls"},
    {DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 0, 0, sizeof(Elf64_Addr), "list of initialisers"},
    {DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 0, 0, sizeof(Elf64_Addr), "list of finalisers"}};

bool is_known_tag(std::int64_t tag, unsigned machine) {
  if (std::ranges::find(kKnownTags, tag) != std::end(kKnownTags)) return true;
  if (machine == EM_AARCH64)
    return std::ranges::find(kKnownAarch64Tags, tag) != std::end(kKnownAarch64Tags);
  // A library for another processor is only packed here.
  return machine != EM_X86_64 && tag >= DT_LOPROC && tag <= DT_HIPROC;
}

void check_known_flags(std::uint64_t flags, std::uint64_t known, const char* tag) {
  if ((flags & ~known) != 0)
    invalid_library("has unknown flags in its dynamic section: " + std::string(tag) + " is " +
                    hexadecimal(flags) + ", and only " + hexadecimal(known) + " are known");
}

}  // namespace

ElfDynamic::ElfDynamic(ElfBytes section, unsigned machine) {
  read(section);
  check_tags(machine);
  check_flags();
  check_tables();
}

void ElfDynamic::read(ElfBytes section) {
  for (std::uint64_t i = 0; i < kMostDynamicEntries; ++i) {
    const auto entry =
        elf_record<Elf64_Dyn>(section, i * sizeof(Elf64_Dyn), "dynamic section's end");
    if (entry.d_tag == DT_NULL) return;
    values_[entry.d_tag].push_back(entry.d_un.d_val);
  }
  damaged_library("dynamic section has more than " + std::to_string(kMostDynamicEntries) +
                  " entries");
}

void ElfDynamic::check_tags(unsigned machine) const {
  for (const RefusedTag& one : kRefusedTags)
    if (has(one.tag))
      unsafe_library(std::string(one.text) + ", which no plugin needs; link it without");
  for (const auto& [tag, values] : values_) {
    // The linker would take the last one, other readers the first.
    if (tag != DT_NEEDED && values.size() > 1)
      damaged_library("dynamic section has entry " + std::to_string(tag) + " twice");
    if (!is_known_tag(tag, machine))
      invalid_library("has the entry " + hexadecimal(static_cast<std::uint64_t>(tag)) +
                      " in its dynamic section, which vcap does not know; link it without the "
                      "option that adds it");
  }
}

void ElfDynamic::check_flags() const {
  const std::uint64_t flags = one(DT_FLAGS).value_or(0);
  if (has(DT_TEXTREL) || (flags & DF_TEXTREL) != 0)
    unsafe_library(
        "has code that is changed while it is loaded (DT_TEXTREL); compile all of it with -fPIC");
  check_known_flags(flags, kKnownFlags, "DT_FLAGS");
  const std::uint64_t flags_1 = one(DT_FLAGS_1).value_or(0);
  if ((flags_1 & DF_1_PIE) != 0) invalid_library("is a program, not a shared library");
  if ((flags_1 & DF_1_NOOPEN) != 0)
    invalid_library("does not allow dlopen (-z nodlopen); link it without");
  check_known_flags(flags_1, kKnownFlags1, "DT_FLAGS_1");
}

void ElfDynamic::check_tables() const {
  for (const TableTags& table : kTableTags) {
    const bool has_kind = table.kind == 0 || has(table.kind);
    const bool has_any = has(table.address) || has(table.size) || (table.kind != 0 && has_kind);
    if (!has_any) continue;
    const bool is_whole = has(table.address) && has(table.size) && has_kind;
    if (!is_whole)
      damaged_library(std::string(table.what) + " lacks its address, its size or its kind");
    if (*one(table.size) % table.entry_size != 0 ||
        (table.kind != 0 && one(table.kind) != table.expected))
      damaged_library(std::string(table.what) + " has an impossible size or kind");
  }
}

std::span<const std::uint64_t> ElfDynamic::all(std::int64_t tag) const noexcept {
  const auto found = values_.find(tag);
  if (found == values_.end()) return {};
  return found->second;
}

std::optional<std::uint64_t> ElfDynamic::one(std::int64_t tag) const {
  const auto values = all(tag);
  return values.empty() ? std::nullopt : std::optional(values.front());
}

}  // namespace vcap
