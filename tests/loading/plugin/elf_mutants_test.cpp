// SPDX-License-Identifier: Apache-2.0
// Libraries with damaged tables. What the checker accepts is given to the dynamic linker, in a
// child process: the linker may refuse it, but must not die. The code of a damaged library may die:
// a relocation can give it another function than it meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "loading/plugin/elf_image.hpp"
#include "loading/plugin/elf_library.hpp"
#include "loading/plugin/elf_symbols.hpp"
#include "loading/plugin/host_libraries.hpp"
#include "support/dying_child.hpp"
#include "support/paths.hpp"
#include "support/sanitizers.hpp"
#include "support/temporary_folder.hpp"
#include "support/unfit_tables.hpp"
#include "vcap/base/abi.hpp"

namespace vcap {
namespace {

using test::LoadEnd;

/// A part of a file.
struct TablePlace {
  std::size_t begin;
  std::size_t size;
  std::size_t entry;  ///< bytes of one entry
};

std::span<const std::byte> library_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Where the tables of a sound library are in its file.
std::vector<TablePlace> tables_of(const std::string& library) {
  const auto bytes = library_bytes(library);
  const ElfImage image(bytes, std::nullopt);
  const ElfSymbols symbols(image);
  const auto header = elf_record<Elf64_Ehdr>(bytes, 0, "header");
  std::vector<TablePlace> places{
      {0, sizeof(Elf64_Ehdr), 2},
      {header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr)}};
  const auto add = [&](ElfBytes part, std::size_t entry) {
    if (!part.empty())
      places.push_back({static_cast<std::size_t>(part.data() - bytes.data()), part.size(), entry});
  };
  const auto add_sized = [&](std::int64_t address, std::int64_t size, std::size_t entry) {
    if (image.has(address)) add(image.at(*image.one(address), *image.one(size), "table"), entry);
  };
  // These have no size of their own; a few hundred bytes have the most important part.
  const auto add_unsized = [&](std::int64_t address, std::size_t size, std::size_t entry) {
    if (!image.has(address)) return;
    const ElfBytes rest = image.from(*image.one(address), "table");
    add(rest.first(std::min(rest.size(), size)), entry);
  };
  add(image.segments().dynamic(), sizeof(Elf64_Dyn));
  add_sized(DT_STRTAB, DT_STRSZ, 1);
  add_sized(DT_RELA, DT_RELASZ, sizeof(Elf64_Rela));
  add_sized(DT_JMPREL, DT_PLTRELSZ, sizeof(Elf64_Rela));
  add_sized(DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 8);
  add_sized(DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 8);
  add_unsized(DT_SYMTAB, symbols.size() * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
  add_unsized(DT_VERSYM, symbols.size() * sizeof(Elf64_Half), sizeof(Elf64_Half));
  add_unsized(DT_GNU_HASH, 16 + 8 * symbols.size(), 4);
  add_unsized(DT_HASH, 16 + 4 * symbols.size(), 4);
  add_unsized(DT_VERNEED, 192, 4);
  add_unsized(DT_VERDEF, 96, 4);
  return places;
}

/// Damages the tables of a library.
class TableMutator {
 public:
  explicit TableMutator(unsigned seed) : random_(seed) {}

  std::string operator()(std::string library, const std::vector<TablePlace>& places) {
    for (std::size_t changes = 1 + below(3); changes > 0; --changes)
      change(library, places[below(places.size())]);
    return library;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  void change(std::string& bytes, const TablePlace& place) {
    const std::size_t at = place.begin + below(place.size);
    const std::size_t count = place.size / place.entry;
    const std::size_t one = place.begin + below(count) * place.entry;
    const std::size_t other = place.begin + below(count) * place.entry;
    switch (below(7)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        return;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        return;
      case 2:
        bytes.replace(one, place.entry, bytes.substr(other, place.entry));
        return;
      case 3:
        return write(bytes, place, one, 2);
      case 4:
        return write(bytes, place, one, 4);
      case 5:
        return write(bytes, place, one, 8);
      default:
        return write(bytes, place, at / 8 * 8, 8);
    }
  }

  /// A number with a meaning, or one that is near to the present one.
  void write(std::string& bytes, const TablePlace& place, std::size_t at, std::size_t size) {
    constexpr std::uint64_t kNumbers[] = {
        0,      1,          2,          3,          5,      6,      7,         8,      10,
        16,     24,         0x25,       0x40,       0x1000, 0x7fff, 0x8000,    0xffff, 0x2000,
        0x3000, 0x7fffffff, 0x80000000, 0xffffffff, ~0ull,  ~7ull,  1ull << 47};
    std::uint64_t value = 0;
    const std::size_t last = std::min(at + size, place.begin + place.size);
    for (std::size_t i = at; i < last; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * (i - at));
    switch (below(3)) {
      case 0:
        value = kNumbers[below(std::size(kNumbers))];
        break;
      case 1:
        value += below(64) * 8 - 256;
        break;
      default:
        value = below(bytes.size());
    }
    for (std::size_t i = at; i < last; ++i)
      bytes[i] = static_cast<char>(value >> (8 * (i - at)) & 0xff);
  }

  std::mt19937 random_;
};

/// A generated library with the tables that compilers seldom make.
std::string library_of_all_tables() {
  using test::kAbsolute;
  using test::kCodeAt;
  using test::kDataAt;
  using test::relocation;
  constexpr auto kCodeAddress = static_cast<std::int64_t>(kCodeAt);
  test::Elf elf =
      test::with_segment(test::describes(PT_TLS, kDataAt + 64, 8, 8), std::string(128, '\0'));
  elf.more_segments.push_back(test::describes(PT_GNU_RELRO, kDataAt, 16, 1));
  elf.symbols.push_back({.name = "mine", .type = STT_TLS, .value = 0});
  elf.symbols.push_back({.name = "chosen", .type = STT_GNU_IFUNC});
  elf.has_hash = true;
  elf.defined_versions = {"own.so", "A", "B"};
  elf.relocations = {relocation(kDataAt, test::kRelative, 0, kCodeAddress),
                     relocation(kDataAt + 8, test::kRelative, 0, kCodeAddress),
                     relocation(kDataAt + 16, test::kIndirect, 0, kCodeAddress),
                     relocation(kDataAt + 24, kAbsolute, 3, 0),
                     relocation(kDataAt + 32, test::kThreadOffset, 2, 0),
                     relocation(kDataAt + 48, test::kThreadLookup, 2, 0)};
  elf.calls = {relocation(kDataAt + 40, test::kCall, 1, 0)};
  elf.dynamic = {{DT_RELACOUNT, {2}},    {DT_INIT_ARRAY, {kDataAt}},
                 {DT_INIT_ARRAYSZ, {8}}, {DT_FINI_ARRAY, {kDataAt + 8}},
                 {DT_FINI_ARRAYSZ, {8}}, {DT_INIT, {kCodeAt}},
                 {DT_FINI, {kCodeAt}}};
  return test::elf_bytes(elf);
}

/// Whether vcap would give the library to the linker.
bool is_accepted(const std::string& library) {
  try {
    const ElfLibrary elf = read_elf_library(library_bytes(library), platform());
    load_host_libraries(elf, "the mutant", "");
    return true;
  } catch (const ElfFault&) {
    return false;
  } catch (const IncompatibleCapsuleError&) {
    return false;
  }
}

/// From VCAP_ELF_MUTANTS=FIRST:COUNT.
std::pair<unsigned, unsigned> wanted_mutants() {
  unsigned first = 0;
  unsigned count = 600;
  if (const char* const wanted = std::getenv("VCAP_ELF_MUTANTS"))
    if (std::sscanf(wanted, "%u:%u", &first, &count) != 2)
      throw std::invalid_argument("VCAP_ELF_MUTANTS is not FIRST:COUNT");
  return {first, count};
}

std::vector<std::string> mutated_libraries() {
  return {test::read_file(test::built("tests/loading/plugins/good.so")),
          test::read_file(test::built("tests/loading/plugins/tables.so")), library_of_all_tables()};
}

TEST(ElfMutants, LoadsTheSoundLibraries) {
  if (test::kUnderSanitizer) GTEST_SKIP() << "a child cannot be watched under a sanitizer";
  for (const std::string& library : mutated_libraries()) {
    EXPECT_TRUE(is_accepted(library));
    EXPECT_EQ(test::load_in_child(library), LoadEnd::loaded);
  }
}

TEST(ElfMutants, NeverKillTheLinker) {
  if (test::kUnderSanitizer) GTEST_SKIP() << "a child cannot be watched under a sanitizer";
  const std::vector<std::string> libraries = mutated_libraries();
  std::vector<std::vector<TablePlace>> places;
  for (const std::string& library : libraries) places.push_back(tables_of(library));
  const auto [first, count] = wanted_mutants();
  unsigned refused = 0;
  std::map<LoadEnd, unsigned> ends;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const std::size_t which = seed % libraries.size();
    const std::string mutant = TableMutator(seed)(libraries[which], places[which]);
    if (mutant == libraries[which] || !is_accepted(mutant)) {
      ++refused;
      continue;
    }
    const LoadEnd end = test::load_in_child(mutant);
    ++ends[end];
    EXPECT_NE(end, LoadEnd::died_in_linker) << "mutant " << seed << " of library " << which;
    EXPECT_NE(end, LoadEnd::hung) << "mutant " << seed << " of library " << which;
  }
  std::printf(
      "of %u mutants %u were refused or unchanged; of the others the linker loaded %u and refused "
      "%u, died in %u and hung in %u, and the code of %u died\n",
      count, refused, ends[LoadEnd::loaded], ends[LoadEnd::refused], ends[LoadEnd::died_in_linker],
      ends[LoadEnd::hung], ends[LoadEnd::died_in_code]);
}

}  // namespace
}  // namespace vcap
