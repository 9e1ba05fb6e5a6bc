// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_library.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "loading/plugin/elf_symbols.hpp"
#include "vcap/capsule/plugin.hpp"

namespace vcap {
namespace {

struct Machine {
  std::string_view platform;
  unsigned number;
};
constexpr Machine kMachines[] = {{"linux-x86_64", EM_X86_64}, {"linux-aarch64", EM_AARCH64}};

constexpr std::size_t kMostVersions = 4096;  // more than any library needs

std::optional<unsigned> machine_of(std::string_view platform) {
  const auto found = std::ranges::find(kMachines, platform, &Machine::platform);
  return found == std::end(kMachines) ? std::nullopt : std::optional(found->number);
}

/// The linker omits a folder from its search if the path is not below the library's own.
bool is_below_origin(std::string_view folder) {
  constexpr std::string_view kOrigins[] = {"$ORIGIN", "${ORIGIN}"};
  const auto origin = std::ranges::find_if(
      kOrigins, [folder](std::string_view one) { return folder.starts_with(one); });
  if (origin == std::end(kOrigins)) return false;
  folder.remove_prefix(origin->size());
  if (!folder.empty() && folder.front() != '/') return false;
  while (!folder.empty()) {
    folder.remove_prefix(1);
    const std::string_view part = folder.substr(0, folder.find('/'));
    if (part == "..") return false;
    folder.remove_prefix(part.size());
  }
  return true;
}

/// DT_RPATH and DT_RUNPATH: folders that the linker searches before the system's folders.
void check_search_paths(const ElfImage& image) {
  for (const std::int64_t tag : {DT_RPATH, DT_RUNPATH}) {
    for (const std::uint64_t offset : image.all(tag)) {
      const std::string text = image.text(offset);
      if (text.empty()) continue;  // left behind when a path was removed; the linker ignores it
      std::string_view rest = text;
      for (bool is_last = false; !is_last;) {
        const std::size_t end = rest.find(':');
        is_last = end == rest.npos;
        if (!is_below_origin(rest.substr(0, end)))
          unsafe_library("has the search path (RPATH) " + quote(rest.substr(0, end)) +
                         ", which is not below $ORIGIN; link it without -rpath, in CMake with "
                         "BUILD_WITH_INSTALL_RPATH ON");
        if (!is_last) rest.remove_prefix(end + 1);
      }
    }
  }
}

/// Entries that make the linker load other libraries or write to the library's own pages.
void check_directives(const ElfImage& image) {
  struct Directive {
    std::int64_t tag;
    const char* text;
  };
  constexpr Directive kRefused[] = {{DT_AUDIT, "requires an auditing library (DT_AUDIT)"},
                                    {DT_DEPAUDIT, "requires an auditing library (DT_DEPAUDIT)"},
                                    {DT_FILTER, "is a filter of another library (DT_FILTER)"},
                                    {DT_AUXILIARY, "is a filter of another one (DT_AUXILIARY)"}};
  for (const Directive& one : kRefused)
    if (image.has(one.tag))
      unsafe_library(std::string(one.text) + ", which no plugin needs; link it without");
  if (image.has(DT_TEXTREL) || (image.one(DT_FLAGS).value_or(0) & DF_TEXTREL) != 0)
    unsafe_library(
        "has code that is changed while it is loaded (DT_TEXTREL); compile all of it with -fPIC");
  const std::uint64_t flags = image.one(DT_FLAGS_1).value_or(0);
  if ((flags & DF_1_PIE) != 0) invalid_library("is a program, not a shared library");
  if ((flags & DF_1_NOOPEN) != 0)
    invalid_library("does not allow dlopen (-z nodlopen); link it without");
}

/// Checks tables that have a separate size. The linker does not check them, and stops the whole
/// process if the size of an entry is not the known one.
void check_tables(const ElfImage& image) {
  struct Table {
    std::int64_t address, size, entry_size;
    std::uint64_t expected;
    const char* what;
  };
  constexpr Table kTables[] = {
      {DT_RELA, DT_RELASZ, DT_RELAENT, sizeof(Elf64_Rela), "table of relocations"},
      {DT_REL, DT_RELSZ, DT_RELENT, sizeof(Elf64_Rel), "table of relocations"},
      {DT_RELR, DT_RELRSZ, DT_RELRENT, sizeof(Elf64_Relr), "table of relocations"},
      {DT_JMPREL, DT_PLTRELSZ, 0, sizeof(Elf64_Rela), "table of calls"},
      {DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 0, sizeof(Elf64_Addr), "list of initialisers"},
      {DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 0, sizeof(Elf64_Addr), "list of finalisers"}};
  for (const Table& one : kTables) {
    const auto address = image.one(one.address);
    if (!address) continue;
    const auto size = image.one(one.size);
    if (!size || *size % one.expected != 0 ||
        (one.entry_size != 0 && image.one(one.entry_size) != one.expected))
      invalid_library(std::string("is damaged: its ") + one.what + " has an impossible size");
    if (*size > 0) static_cast<void>(image.at(*address, *size, one.what));
  }
  if (image.one(DT_PLTREL).value_or(DT_RELA) != DT_RELA)
    invalid_library("is damaged: its table of calls has an unknown type (DT_PLTREL)");
}

std::vector<ElfLibrary::Needed> read_needed(const ElfImage& image) {
  std::vector<ElfLibrary::Needed> needed;
  for (const std::uint64_t offset : image.all(DT_NEEDED)) {
    std::string name = image.text(offset);
    if (name.empty()) invalid_library("is damaged: it needs a library without a name");
    if (name.find_first_of("/$") != name.npos)
      unsafe_library("needs the library " + quote(name) +
                     " by its path; link it by its name (-l), or give that library a soname");
    needed.push_back({.name = std::move(name)});
  }
  return needed;
}

/// Reads the versions that one DT_VERNEED record lists. `left` limits the work on damaged lists.
void read_versions(const ElfImage& image, ElfImage::Bytes table, std::uint64_t at, unsigned count,
                   std::vector<std::string>& versions, std::size_t& left) {
  constexpr const char* kWhat = "list of needed versions";
  for (; count > 0; --count) {
    if (left-- == 0) invalid_library("is damaged: its list of needed versions is too long");
    const auto version = ElfImage::record<Elf64_Vernaux>(table, at, kWhat);
    std::string name = image.text(version.vna_name);
    // The linker compares both, and would not find a version whose hash is wrong.
    if (version.vna_hash != elf_hash(name))
      invalid_library("is damaged: its needed version " + quote(name) + " has a wrong hash");
    // The linker accepts that a weak version is missing.
    if ((version.vna_flags & VER_FLG_WEAK) == 0) versions.push_back(std::move(name));
    if ((version.vna_next == 0) != (count == 1))
      invalid_library("is damaged: its list of needed versions has a wrong length");
    at += version.vna_next;
  }
}

/// DT_VERNEED: which versions of symbols are needed, and from which libraries.
void add_versions(const ElfImage& image, std::vector<ElfLibrary::Needed>& needed) {
  const auto address = image.one(DT_VERNEED);
  if (!address && !image.has(DT_VERDEF)) return;
  if (!image.one(DT_VERSYM))
    invalid_library("is damaged: it needs versions, but does not say for which symbols");
  if (!address) return;
  constexpr const char* kWhat = "list of needed versions";
  const ElfImage::Bytes table = image.from(*address, kWhat);
  std::uint64_t at = 0;
  std::size_t left = kMostVersions;
  for (std::uint64_t count = image.one(DT_VERNEEDNUM).value_or(0);; --count) {
    if (count == 0 || left-- == 0)
      invalid_library("is damaged: its list of needed versions has a wrong length");
    const auto record = ElfImage::record<Elf64_Verneed>(table, at, kWhat);
    if (record.vn_version != VER_NEED_CURRENT)
      invalid_library("is damaged: its list of needed versions has an unknown format");
    const std::string name = image.text(record.vn_file);
    const auto library = std::ranges::find(needed, name, &ElfLibrary::Needed::name);
    // The linker assumes this without checking.
    if (library == needed.end())
      invalid_library("is damaged: it needs versions of " + quote(name) +
                      ", but does not need that library");
    if (record.vn_cnt > 0)
      read_versions(image, table, at + record.vn_aux, record.vn_cnt, library->versions, left);
    if (record.vn_next == 0) {
      if (count != 1) invalid_library("is damaged: its list of needed versions has a wrong length");
      return;
    }
    at += record.vn_next;
  }
}

}  // namespace

ElfLibrary read_elf_library(std::span<const std::byte> bytes, std::string_view platform) {
  const ElfImage image(bytes, machine_of(platform));
  check_directives(image);
  check_search_paths(image);
  check_tables(image);
  ElfLibrary library{.needed = read_needed(image)};
  add_versions(image, library.needed);
  if (const std::string fault = elf_function_fault(image, kPluginEntrySymbol); !fault.empty())
    throw ElfFault(ErrorCode::no_entry_symbol,
                   fault + "; write VCAP_CAPSULE(YourCapsule) in one of its sources");
  return library;
}

ElfLibrary check_elf_library(std::span<const std::byte> bytes, std::string_view platform,
                             const std::string& subject, const std::string& entry) {
  try {
    return read_elf_library(bytes, platform);
  } catch (const ElfFault& fault) {
    std::string text = subject + " " + fault.what();
    if (fault.code() == ErrorCode::invalid_library)
      text += "; build it as a shared library for " + std::string(platform);
    throw InvalidCapsuleError(fault.code(), text, entry);
  }
}

}  // namespace vcap
