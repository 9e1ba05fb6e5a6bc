// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Writes shared libraries: a valid plugin of a few kilobytes, or any kind of broken one. A test
/// changes single fields, and the rest stays valid. The valid one can be loaded; its entry gives
/// null.
///
///   elf_bytes()                                              sound
///   elf_bytes({.runpath = "/tmp"})                           one field
///   elf_bytes({.dynamic = {{DT_AUDIT, {0}}}})                one more entry, or another value of
///                                                            it; {{DT_SYMTAB, {}}} leaves it out
///   elf_bytes({.segments = [](auto& s) { s[kCode].p_flags |= PF_W; }})
///   elf_bytes({.bytes = [](auto& b) { b.resize(100); }})     the finished file
namespace vcap::test {

struct ElfSymbol {
  std::string name = "vcap_capsule_plugin";
  unsigned char binding = STB_GLOBAL;
  unsigned char type = STT_FUNC;
  unsigned char visibility = STV_DEFAULT;
  std::uint16_t section = 1;  ///< SHN_UNDEF: not defined in this library
  std::optional<std::uint64_t> value{};
};

struct ElfVersions {
  std::string library{};
  std::vector<std::string> versions{};
  std::uint16_t flags = 0;
};

/// Indexes in the list of segments.
enum : std::size_t { kTables, kCode, kData, kDynamic, kStack, kFirstMore };

/// Addresses of the code and of `Elf::writable`, if the tables fit into a page.
inline constexpr std::uint64_t kCodeAt = 4096, kDataAt = 8192;

/// The version of libc's first symbols on this architecture.
#if defined(__aarch64__)
inline constexpr const char* kLibcVersion = "GLIBC_2.17";
inline constexpr std::uint16_t kMachine = EM_AARCH64;
#else
inline constexpr const char* kLibcVersion = "GLIBC_2.2.5";
inline constexpr std::uint16_t kMachine = EM_X86_64;
#endif

struct Elf {
  // The header
  unsigned char elf_class = ELFCLASS64;
  unsigned char data = ELFDATA2LSB;
  unsigned char ident_version = EV_CURRENT;
  unsigned char os_abi = ELFOSABI_SYSV;
  std::uint16_t type = ET_DYN;
  std::uint16_t machine = kMachine;
  std::uint32_t version = EV_CURRENT;
  std::uint16_t header_size = sizeof(Elf64_Ehdr);
  std::uint16_t segment_size = sizeof(Elf64_Phdr);
  std::optional<std::uint64_t> segments_offset{};
  std::optional<std::uint16_t> segment_count{};

  // What it needs and offers
  std::vector<std::string> needed{"libc.so.6"};
  std::vector<ElfVersions> versions{{.library = "libc.so.6", .versions = {kLibcVersion}}};
  std::optional<std::string> rpath{};
  std::optional<std::string> runpath{};
  std::vector<ElfSymbol> symbols{ElfSymbol{}};
  bool has_gnu_hash = true;
  bool has_hash = false;
  std::string text{};                           ///< bytes among the tables, such as an ABI tag
  std::vector<std::string> defined_versions{};  ///< the first is the library's own name
  std::string writable{};                       ///< bytes before the dynamic section
  std::vector<Elf64_Rela> relocations{};
  std::vector<Elf64_Rela> calls{};          ///< relocations of the table DT_JMPREL
  std::vector<std::uint64_t> packed{};      ///< relocations of the table DT_RELR
  std::vector<Elf64_Phdr> more_segments{};  ///< from the index kFirstMore on

  /// Values by kind of entry, instead of the valid ones; an empty list leaves the entry out.
  std::map<std::int64_t, std::vector<std::uint64_t>> dynamic{};
  bool has_dynamic_end = true;  ///< DT_NULL

  // Last changes
  /// Changes to the bytes of a table, by its name: "gnu_hash", "hash", "symbols", "strings",
  /// "versions" (of symbols), "needed" and "defined" (versions), "relocations", "calls", "packed".
  std::map<std::string, std::function<void(std::string&)>> tables{};
  std::function<void(std::vector<Elf64_Phdr>&)> segments{};
  std::function<void(std::string&)> bytes{};
};

namespace elf {

inline constexpr std::uint64_t kPage = 4096;

template <class Record>
std::string raw(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof(record)};
}

/// Writes a value into bytes at an offset.
template <class Value>
void put(std::string& bytes, std::size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

inline std::uint32_t gnu_hash(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

inline std::uint32_t sysv_hash(const std::string& name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    if (const std::uint32_t high = hash & 0xf0000000u; high != 0) hash = (hash ^ high >> 24) ^ high;
  }
  return hash;
}

class Strings {
 public:
  std::uint32_t add(const std::string& text) {
    const auto at = static_cast<std::uint32_t>(bytes_.size());
    bytes_ += text + '\0';
    return at;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

/// One bucket, and a Bloom filter that accepts all names. Symbols from 1 on, in their order.
inline std::string gnu_hash_table(const std::vector<ElfSymbol>& symbols) {
  std::string table = raw(std::uint32_t{1}) + raw(std::uint32_t{1}) + raw(std::uint32_t{1}) +
                      raw(std::uint32_t{6}) + raw(~std::uint64_t{0}) +
                      raw(std::uint32_t{symbols.empty() ? 0u : 1u});
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::uint32_t end = i + 1 == symbols.size() ? 1u : 0u;
    table += raw((gnu_hash(symbols[i].name) & ~1u) | end);
  }
  return table;
}

/// One bucket, which lists the symbols in their order.
inline std::string hash_table(const std::vector<ElfSymbol>& symbols) {
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::string table = raw(std::uint32_t{1}) + raw(count + 1) + raw(count > 0 ? 1u : 0u) + raw(0u);
  for (std::uint32_t i = 1; i <= count; ++i) table += raw(i < count ? i + 1 : 0u);
  return table;
}

inline std::string symbol_table(const std::vector<ElfSymbol>& symbols, Strings& strings) {
  std::string table = raw(Elf64_Sym{});
  for (const ElfSymbol& one : symbols)
    table +=
        raw(Elf64_Sym{.st_name = strings.add(one.name),
                      .st_info = static_cast<unsigned char>(ELF64_ST_INFO(one.binding, one.type)),
                      .st_other = one.visibility,
                      .st_shndx = one.section,
                      .st_value = one.value.value_or(kPage),
                      .st_size = 1});
  return table;
}

inline std::string needed_versions(const std::vector<ElfVersions>& needed, Strings& strings) {
  std::string table;
  std::uint16_t number = 2;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const auto count = static_cast<std::uint16_t>(needed[i].versions.size());
    const bool is_last = i + 1 == needed.size();
    const std::size_t size = sizeof(Elf64_Verneed) + count * sizeof(Elf64_Vernaux);
    table += raw(Elf64_Verneed{.vn_version = VER_NEED_CURRENT,
                               .vn_cnt = count,
                               .vn_file = strings.add(needed[i].library),
                               .vn_aux = sizeof(Elf64_Verneed),
                               .vn_next = is_last ? 0u : static_cast<std::uint32_t>(size)});
    for (std::size_t j = 0; j < count; ++j)
      table += raw(Elf64_Vernaux{
          .vna_hash = sysv_hash(needed[i].versions[j]),
          .vna_flags = needed[i].flags,
          .vna_other = number++,
          .vna_name = strings.add(needed[i].versions[j]),
          .vna_next = j + 1 < count ? static_cast<std::uint32_t>(sizeof(Elf64_Vernaux)) : 0u});
  }
  return table;
}

inline std::string defined_versions(const std::vector<std::string>& names, Strings& strings) {
  std::string table;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size();
    constexpr std::uint32_t kSize = sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux);
    table += raw(Elf64_Verdef{.vd_version = VER_DEF_CURRENT,
                              .vd_flags = static_cast<std::uint16_t>(i == 0 ? VER_FLG_BASE : 0),
                              .vd_ndx = static_cast<std::uint16_t>(i == 0 ? 1 : 100 + i),
                              .vd_cnt = 1,
                              .vd_hash = sysv_hash(names[i]),
                              .vd_aux = sizeof(Elf64_Verdef),
                              .vd_next = is_last ? 0u : kSize});
    table += raw(Elf64_Verdaux{.vda_name = strings.add(names[i]), .vda_next = 0});
  }
  return table;
}

template <class Record>
std::string raw_list(const std::vector<Record>& records) {
  std::string table;
  for (const Record& one : records) table += raw(one);
  return table;
}

/// The machine code of a function that returns null.
inline std::string null_function(std::uint16_t machine) {
  if (machine == EM_AARCH64) return raw(0xd2800000u) + raw(0xd65f03c0u);  // mov x0, #0; ret
  return "\x31\xc0\xc3";                                                  // xor eax, eax; ret
}

}  // namespace elf

/// The library's bytes: tables from byte 0, the code in the second page, and then the data and the
/// dynamic section. The address of each part is its offset.
inline std::string elf_bytes(const Elf& wanted = {}) {
  using namespace elf;
  const std::size_t segments_count = kFirstMore + wanted.more_segments.size();
  std::string file(sizeof(Elf64_Ehdr) + segments_count * sizeof(Elf64_Phdr), '\0');
  std::map<std::int64_t, std::vector<std::uint64_t>> dynamic;

  const auto add = [&](const std::string& name, std::string table) {
    if (const auto change = wanted.tables.find(name); change != wanted.tables.end())
      change->second(table);
    file.resize((file.size() + 7) / 8 * 8, '\0');
    const std::uint64_t at = file.size();
    file += table;
    return at;
  };
  Strings strings;
  for (const std::string& name : wanted.needed) dynamic[DT_NEEDED].push_back(strings.add(name));
  if (wanted.rpath) dynamic[DT_RPATH] = {strings.add(*wanted.rpath)};
  if (wanted.runpath) dynamic[DT_RUNPATH] = {strings.add(*wanted.runpath)};
  dynamic[DT_SYMTAB] = {add("symbols", symbol_table(wanted.symbols, strings))};
  dynamic[DT_SYMENT] = {sizeof(Elf64_Sym)};
  if (wanted.has_gnu_hash) dynamic[DT_GNU_HASH] = {add("gnu_hash", gnu_hash_table(wanted.symbols))};
  if (wanted.has_hash) dynamic[DT_HASH] = {add("hash", hash_table(wanted.symbols))};
  if (!wanted.versions.empty() || !wanted.defined_versions.empty()) {
    std::string of_symbols = raw(std::uint16_t{0});
    for (std::size_t i = 0; i < wanted.symbols.size(); ++i) of_symbols += raw(std::uint16_t{1});
    dynamic[DT_VERSYM] = {add("versions", of_symbols)};
  }
  if (!wanted.versions.empty()) {
    dynamic[DT_VERNEED] = {add("needed", needed_versions(wanted.versions, strings))};
    dynamic[DT_VERNEEDNUM] = {wanted.versions.size()};
  }
  if (!wanted.defined_versions.empty()) {
    dynamic[DT_VERDEF] = {add("defined", defined_versions(wanted.defined_versions, strings))};
    dynamic[DT_VERDEFNUM] = {wanted.defined_versions.size()};
  }
  if (!wanted.relocations.empty()) {
    dynamic[DT_RELA] = {add("relocations", raw_list(wanted.relocations))};
    dynamic[DT_RELASZ] = {wanted.relocations.size() * sizeof(Elf64_Rela)};
    dynamic[DT_RELAENT] = {sizeof(Elf64_Rela)};
  }
  if (!wanted.calls.empty()) {
    dynamic[DT_JMPREL] = {add("calls", raw_list(wanted.calls))};
    dynamic[DT_PLTRELSZ] = {wanted.calls.size() * sizeof(Elf64_Rela)};
    dynamic[DT_PLTREL] = {DT_RELA};
  }
  if (!wanted.packed.empty()) {
    dynamic[DT_RELR] = {add("packed", raw_list(wanted.packed))};
    dynamic[DT_RELRSZ] = {wanted.packed.size() * sizeof(Elf64_Relr)};
    dynamic[DT_RELRENT] = {sizeof(Elf64_Relr)};
  }
  dynamic[DT_STRSZ] = {strings.bytes().size()};
  dynamic[DT_STRTAB] = {add("strings", strings.bytes())};
  file += wanted.text;
  for (const auto& [tag, values] : wanted.dynamic) dynamic[tag] = values;

  const std::uint64_t tables_size = file.size();
  const std::uint64_t code_at = (file.size() + kPage - 1) / kPage * kPage;
  file.resize(code_at, '\0');
  file += null_function(wanted.machine);
  const std::uint64_t code_size = file.size() - code_at;
  const std::uint64_t data_at = code_at + kPage;
  file.resize(data_at, '\0');
  file += wanted.writable;
  file.resize((file.size() + 7) / 8 * 8, '\0');
  const std::uint64_t dynamic_at = file.size();
  for (const auto& [tag, values] : dynamic)
    for (const std::uint64_t value : values)
      file += raw(Elf64_Dyn{.d_tag = tag, .d_un = {.d_val = value}});
  if (wanted.has_dynamic_end) file += raw(Elf64_Dyn{});
  const std::uint64_t dynamic_size = file.size() - dynamic_at;

  const auto load = [](std::uint32_t flags, std::uint64_t at, std::uint64_t size) {
    return Elf64_Phdr{.p_type = PT_LOAD,
                      .p_flags = flags,
                      .p_offset = at,
                      .p_vaddr = at,
                      .p_paddr = at,
                      .p_filesz = size,
                      .p_memsz = size,
                      .p_align = kPage};
  };
  std::vector<Elf64_Phdr> segments(kFirstMore);
  segments[kTables] = load(PF_R, 0, tables_size);
  segments[kCode] = load(PF_R | PF_X, code_at, code_size);
  segments[kData] = load(PF_R | PF_W, data_at, dynamic_at + dynamic_size - data_at);
  segments[kDynamic] = load(PF_R | PF_W, dynamic_at, dynamic_size);
  segments[kDynamic].p_type = PT_DYNAMIC;
  segments[kDynamic].p_align = 8;
  segments[kStack].p_type = PT_GNU_STACK;
  segments[kStack].p_flags = PF_R | PF_W;
  segments.insert(segments.end(), wanted.more_segments.begin(), wanted.more_segments.end());
  if (wanted.segments) wanted.segments(segments);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = wanted.elf_class;
  header.e_ident[EI_DATA] = wanted.data;
  header.e_ident[EI_VERSION] = wanted.ident_version;
  header.e_ident[EI_OSABI] = wanted.os_abi;
  header.e_type = wanted.type;
  header.e_machine = wanted.machine;
  header.e_version = wanted.version;
  header.e_ehsize = wanted.header_size;
  header.e_phentsize = wanted.segment_size;
  header.e_phoff = wanted.segments_offset.value_or(sizeof(header));
  header.e_phnum = wanted.segment_count.value_or(static_cast<std::uint16_t>(segments.size()));
  put(file, 0, header);
  for (std::size_t i = 0; i < std::min(segments.size(), segments_count); ++i)
    put(file, sizeof(header) + i * sizeof(Elf64_Phdr), segments[i]);
  if (wanted.bytes) wanted.bytes(file);
  return file;
}

}  // namespace vcap::test
