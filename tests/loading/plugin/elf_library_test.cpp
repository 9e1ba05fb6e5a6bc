// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_library.hpp"

#include <gmock/gmock.h>

#include <ostream>

#include "support/elf_writer.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "support/unfit_libraries.hpp"
#include "vcap/base/abi.hpp"

namespace vcap {
namespace {

using test::Elf;
using test::elf_bytes;
using test::ElfSymbol;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
namespace elf = test::elf;

ElfLibrary read_elf(const std::string& bytes, std::string_view for_platform = platform()) {
  return read_elf_library(std::as_bytes(std::span(bytes)), for_platform);
}

TEST(ElfLibrary, ReadsWhatItNeedsInOrder) {
  const ElfLibrary library =
      read_elf(elf_bytes({.needed = {"libm.so.6", "libc.so.6"},
                          .versions = {{.library = "libc.so.6", .versions = {"A", "B"}},
                                       {.library = "libm.so.6", .versions = {"C"}}}}));
  ASSERT_EQ(library.needed.size(), 2u);
  EXPECT_EQ(library.needed[0].name, "libm.so.6");
  EXPECT_THAT(library.needed[0].versions, ElementsAre("C"));
  EXPECT_EQ(library.needed[1].name, "libc.so.6");
  EXPECT_THAT(library.needed[1].versions, ElementsAre("A", "B"));
}

TEST(ElfLibrary, LeavesOutVersionsThatMayBeAbsent) {
  const ElfLibrary library = read_elf(elf_bytes(
      {.versions = {{.library = "libc.so.6", .versions = {"A"}, .flags = VER_FLG_WEAK}}}));
  EXPECT_TRUE(library.needed.at(0).versions.empty());
}

TEST(ElfLibrary, IsAcceptedIfALinkerMadeIt) {
  const ElfLibrary library =
      read_elf(test::read_file(test::built("tests/loading/plugins/good.so")));
  EXPECT_THAT(library.needed, testing::Contains(Field(&ElfLibrary::Needed::name, "libc.so.6")));
}

TEST(ElfLibrary, MayFindItsEntryByEitherHashTable) {
  const std::vector<ElfSymbol> symbols{
      {.name = "before"}, {}, {.name = "behind", .type = STT_OBJECT}};
  EXPECT_NO_THROW(read_elf(elf_bytes({.symbols = symbols})));
  EXPECT_NO_THROW(
      read_elf(elf_bytes({.symbols = symbols, .has_gnu_hash = false, .has_hash = true})));
  EXPECT_NO_THROW(read_elf(elf_bytes({.symbols = symbols, .has_hash = true})));
}

TEST(ElfLibrary, MaySearchBelowItsOwnFolder) {
  for (const char* path :
       {"", "$ORIGIN", "${ORIGIN}", "$ORIGIN/", "$ORIGIN/lib:${ORIGIN}/a..b/c", "$ORIGIN//x"})
    EXPECT_NO_THROW(read_elf(elf_bytes({.runpath = path}))) << path;
}

TEST(ElfLibrary, MayBeOfAnyProcessorForAPlatformThatIsUnknown) {
  EXPECT_NO_THROW(read_elf(elf_bytes({.machine = EM_RISCV}), "linux-loongarch64"));
}

/// Libraries that use what the refused ones use wrongly.
std::vector<std::pair<std::string, Elf>> sound_libraries() {
  using test::kAbsolute;
  using test::kCall;
  using test::kCodeAt;
  using test::kDataAt;
  using test::kIndirect;
  using test::kRelative;
  using test::kThreadLookup;
  using test::kThreadOffset;
  using test::relocation;
  constexpr auto kCodeAddress = static_cast<std::int64_t>(kCodeAt);
  std::vector<std::pair<std::string, Elf>> all;
  all.emplace_back("an initialiser by its address",
                   test::with_initialiser({relocation(kDataAt, kRelative, 0, kCodeAddress)}));
  all.emplace_back("an initialiser by its symbol",
                   test::with_initialiser({relocation(kDataAt, kAbsolute, 1, 0)}));
  Elf packed = test::with_packed({kDataAt, 0b1011});
  elf::put(packed.writable, 0, kCodeAt);
  packed.dynamic = {{DT_INIT_ARRAY, {kDataAt}}, {DT_INIT_ARRAYSZ, {8}}};
  all.emplace_back("packed relocations", packed);
  all.emplace_back("a function that chooses another",
                   test::with_relocations({relocation(kDataAt, kIndirect, 0, kCodeAddress)}));
  Elf counted = test::with_relocations(
      {relocation(kDataAt, kRelative, 0, kCodeAddress), relocation(kDataAt + 8, kAbsolute, 1, 7)});
  counted.dynamic = {{DT_RELACOUNT, {1}}};
  counted.calls = {relocation(kDataAt + 16, kCall, 1, 0)};
  all.emplace_back("counted relocations and calls", counted);
  Elf thread = test::with_segment(test::describes(PT_TLS, kDataAt, 8, 8), std::string(64, '\0'));
  thread.symbols.push_back({.name = "mine", .type = STT_TLS, .value = 0});
  thread.relocations = {relocation(kDataAt + 8, kThreadOffset, 0, 0),
                        relocation(kDataAt + 16, kThreadOffset, 2, 0),
                        relocation(kDataAt + 32, kThreadLookup, 2, 0)};
  all.emplace_back("thread-local variables", thread);
  all.emplace_back("defined versions", test::with_defined([](auto&) {}));
  std::string note(24, '\0');
  elf::put(note, 0, 4u);
  elf::put(note, 4, 8u);
  all.emplace_back("a note", test::with_segment(test::describes(PT_NOTE, kDataAt, 24, 4), note));
  all.emplace_back("a part that becomes read-only",
                   test::with_segment(test::describes(PT_GNU_RELRO, kDataAt, 64, 1), note));
  all.emplace_back("a list of its segments",
                   test::with_segment(test::describes(PT_PHDR, 64, 6 * 56, 8)));
  all.emplace_back("its initialiser and finaliser",
                   test::with_entries({{DT_INIT, {kCodeAt}}, {DT_FINI, {kCodeAt}}}));
  return all;
}

TEST(ElfLibrary, IsAcceptedWithEachKindOfTable) {
  for (const auto& [what, elf] : sound_libraries())
    EXPECT_NO_THROW(read_elf(elf_bytes(elf))) << what;
}

TEST(ElfLibrary, NamesTheThreadLocalVariablesThatItUses) {
  Elf elf = test::with_relocations({test::relocation(test::kDataAt, test::kThreadOffset, 2, 0)});
  elf.symbols.push_back({.name = "of_another", .type = STT_TLS, .section = SHN_UNDEF, .value = 0});
  EXPECT_THAT(read_elf(elf_bytes(elf)).thread_variables, ElementsAre("of_another"));
}

TEST(ElfLibrary, NamesTheInitialisersThatAnotherLibraryMayDefine) {
  const auto called = [](const Elf& elf) { return read_elf(elf_bytes(elf)).called_functions; };
  Elf elf = test::with_initialiser({test::relocation(test::kDataAt, test::kAbsolute, 1, 0)});
  EXPECT_THAT(called(elf), ElementsAre("vcap_capsule_plugin"));
  elf.symbols.push_back({.name = "own", .visibility = STV_HIDDEN});
  elf.relocations = {test::relocation(test::kDataAt, test::kAbsolute, 2, 0)};
  EXPECT_THAT(called(elf), testing::IsEmpty());
}

class UnfitElfLibrary : public testing::TestWithParam<test::UnfitLibrary> {};

TEST_P(UnfitElfLibrary, IsRefusedWithItsFault) {
  EXPECT_THAT([] { read_elf(elf_bytes(GetParam().elf)); },
              ThrowsError<ElfFault>(GetParam().code, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(All, UnfitElfLibrary, testing::ValuesIn(test::unfit_libraries()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ElfLibrary, IsReadOrRefusedWithAnyOneByteChanged) {
  const std::string good = elf_bytes({.has_hash = true});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      try {
        read_elf(bytes);
      } catch (const ElfFault&) {
      }
    }
  }
}

TEST(ElfLibrary, IsRefusedWhereverItIsCutShort) {
  const std::string good = elf_bytes();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(read_elf(good.substr(0, size)), ElfFault) << size;
}

}  // namespace
}  // namespace vcap
