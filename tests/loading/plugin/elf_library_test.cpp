// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_library.hpp"

#include <gmock/gmock.h>

#include <ostream>

#include "support/elf_writer.hpp"
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
  const ElfLibrary library = read_elf(test::read_file(VCAP_TEST_PLUGINS "/good.so"));
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
