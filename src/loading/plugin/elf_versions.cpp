// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_versions.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace vcap {
namespace {

constexpr std::size_t kMostVersions = 4096;  // more than any library needs
constexpr const char* kNeededList = "list of needed versions";
constexpr const char* kDefinedList = "list of defined versions";
/// In an index of a version: the symbol is found only with its version.
constexpr std::uint16_t kHiddenVersion = 0x8000;

[[noreturn]] void wrong_version_list(const char* list, const char* fault) {
  damaged_library(std::string(list) + " has " + fault);
}

/// One of the two lists, whose records point forward to each other.
struct VersionList {
  const char* what;
  std::uint64_t address;
  ElfBytes bytes;
  std::size_t left = kMostVersions;  ///< records; limits the work on damaged lists
  std::uint64_t end = 0;             ///< of the records that were read

  template <class Record>
  Record read(std::uint64_t at) {
    if (left-- == 0) damaged_library(std::string(what) + " is too long");
    const auto record = elf_record<Record>(bytes, at, what);
    end = std::max(end, at + sizeof(Record));
    return record;
  }
};

class VersionReader {
 public:
  VersionReader(const ElfImage& image, std::vector<ElfLibrary::Needed>& needed, ElfRanges& tables)
      : image_(image), needed_(needed), tables_(tables), is_known_(kHiddenVersion) {}

  void read(const ElfSymbols& symbols) {
    const bool has_lists = image_.has(DT_VERNEED) || image_.has(DT_VERDEF);
    const auto of_symbols = image_.one(DT_VERSYM);
    if (has_lists && !of_symbols)
      invalid_library("is damaged: it needs versions, but does not say for which symbols");
    if (!has_lists && of_symbols)
      invalid_library("is damaged: its symbols have versions, but it lists no versions");
    if (!of_symbols) return;
    if (const auto address = image_.one(DT_VERNEED)) read_needed(*address);
    if (const auto address = image_.one(DT_VERDEF)) read_defined(*address);
    check_symbols(*of_symbols, symbols.size());
  }

 private:
  VersionList list_at(std::uint64_t address, const char* what) const {
    if (address % alignof(Elf64_Verneed) != 0) damaged_library(std::string(what) + " is unaligned");
    return {.what = what, .address = address, .bytes = image_.from(address, what)};
  }

  /// Notes a version's index. The linker's own indexes are 0 (local) and 1 (without version).
  void note_index(std::uint16_t raw, const char* list) {
    const auto index = static_cast<std::uint16_t>(raw & ~kHiddenVersion);
    if (index <= VER_NDX_GLOBAL || is_known_[index])
      wrong_version_list(list, "a version with the index of another one");
    is_known_[index] = true;
  }

  /// DT_VERNEED: which versions of symbols are needed, and from which libraries.
  void read_needed(std::uint64_t address) {
    VersionList list = list_at(address, kNeededList);
    std::uint64_t at = 0;
    for (std::uint64_t count = image_.one(DT_VERNEEDNUM).value_or(0);; --count) {
      if (count == 0) wrong_version_list(kNeededList, "a wrong length");
      const auto record = list.read<Elf64_Verneed>(at);
      if (record.vn_version != VER_NEED_CURRENT)
        wrong_version_list(kNeededList, "an unknown format");
      const std::string name = image_.text(record.vn_file);
      const auto library = std::ranges::find(needed_, name, &ElfLibrary::Needed::name);
      // The linker assumes this without checking.
      if (library == needed_.end())
        invalid_library("is damaged: it needs versions of " + quote(name) +
                        ", but does not need that library");
      library->has_versions = true;
      // The linker reads the first version even if the count is 0.
      if (record.vn_cnt == 0) wrong_version_list(kNeededList, "a library without versions");
      read_versions_of(list, at + record.vn_aux, record.vn_cnt, *library);
      if (record.vn_next == 0) {
        if (count != 1) wrong_version_list(kNeededList, "a wrong length");
        break;
      }
      at += record.vn_next;
    }
    tables_.add(address, list.end, kNeededList);
  }

  /// The versions that one DT_VERNEED record lists.
  void read_versions_of(VersionList& list, std::uint64_t at, unsigned count,
                        ElfLibrary::Needed& library) {
    for (; count > 0; --count) {
      const auto version = list.read<Elf64_Vernaux>(at);
      std::string name = image_.text(version.vna_name);
      // The linker compares both, and would not find a version whose hash is wrong.
      if (version.vna_hash != elf_hash(name))
        invalid_library("is damaged: its needed version " + quote(name) + " has a wrong hash");
      note_index(version.vna_other, kNeededList);
      // The linker accepts that a weak version is missing.
      if ((version.vna_flags & VER_FLG_WEAK) == 0) library.versions.push_back(std::move(name));
      if ((version.vna_next == 0) != (count == 1))
        wrong_version_list(kNeededList, "a wrong length");
      at += version.vna_next;
    }
  }

  /// DT_VERDEF: the versions that the library's own symbols have.
  void read_defined(std::uint64_t address) {
    VersionList list = list_at(address, kDefinedList);
    std::uint64_t at = 0;
    for (std::uint64_t count = image_.one(DT_VERDEFNUM).value_or(0);; --count) {
      if (count == 0) wrong_version_list(kDefinedList, "a wrong length");
      const auto record = list.read<Elf64_Verdef>(at);
      if (record.vd_version != VER_DEF_CURRENT)
        wrong_version_list(kDefinedList, "an unknown format");
      if ((record.vd_flags & VER_FLG_BASE) == 0)
        note_index(record.vd_ndx, kDefinedList);
      else if (record.vd_ndx != VER_NDX_GLOBAL)
        wrong_version_list(kDefinedList, "a base version with a wrong index");
      read_names_of(list, at + record.vd_aux, record);
      if (record.vd_next == 0) {
        if (count != 1) wrong_version_list(kDefinedList, "a wrong length");
        break;
      }
      at += record.vd_next;
    }
    tables_.add(address, list.end, kDefinedList);
  }

  /// The names of one DT_VERDEF record: its own, and those of the versions before it.
  void read_names_of(VersionList& list, std::uint64_t at, const Elf64_Verdef& record) {
    if (record.vd_cnt == 0) wrong_version_list(kDefinedList, "a version without a name");
    for (unsigned i = 0; i < record.vd_cnt; ++i) {
      const auto name = list.read<Elf64_Verdaux>(at);
      const std::string text = image_.text(name.vda_name);
      if (i == 0 && record.vd_hash != elf_hash(text))
        invalid_library("is damaged: its version " + quote(text) + " has a wrong hash");
      if ((name.vda_next == 0) != (i + 1 == record.vd_cnt))
        wrong_version_list(kDefinedList, "a wrong length");
      at += name.vda_next;
    }
  }

  /// DT_VERSYM: the index of each symbol's version. The linker does not check them.
  void check_symbols(std::uint64_t address, std::uint64_t count) {
    constexpr const char* kList = "list of symbols' versions";
    const ElfBytes list = image_.at(address, count * sizeof(Elf64_Half), kList);
    if (address % sizeof(Elf64_Half) != 0) damaged_library(std::string(kList) + " is unaligned");
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::uint16_t>(
          elf_record<Elf64_Half>(list, i * sizeof(Elf64_Half), kList) & ~kHiddenVersion);
      if (index > VER_NDX_GLOBAL && !is_known_[index])
        damaged_library("symbol " + std::to_string(i) + " has the version " +
                        std::to_string(index) + ", which is not listed");
    }
    tables_.add(address, list.size(), kList);
  }

  const ElfImage& image_;
  std::vector<ElfLibrary::Needed>& needed_;
  ElfRanges& tables_;
  std::vector<bool> is_known_;  ///< by the index of a version
};

}  // namespace

void read_versions(const ElfImage& image, const ElfSymbols& symbols,
                   std::vector<ElfLibrary::Needed>& needed, ElfRanges& tables) {
  VersionReader(image, needed, tables).read(symbols);
}

}  // namespace vcap
