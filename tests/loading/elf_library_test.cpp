// SPDX-License-Identifier: Apache-2.0
#include "loading/elf_library.hpp"

#include <gmock/gmock.h>

#include <ostream>

#include "support/elf_writer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/abi.hpp"

namespace vcap {
namespace {

using test::Elf;
using test::elf_bytes;
using test::ElfSymbol;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

ElfLibrary read(const std::string& bytes, std::string_view for_platform = platform()) {
  return read_elf_library(std::as_bytes(std::span(bytes)), for_platform);
}

TEST(ElfLibrary, ReadsWhatItNeedsInOrder) {
  const ElfLibrary library =
      read(elf_bytes({.needed = {"libm.so.6", "libc.so.6"},
                      .versions = {{.library = "libc.so.6", .versions = {"A", "B"}},
                                   {.library = "libm.so.6", .versions = {"C"}}}}));
  ASSERT_EQ(library.needed.size(), 2u);
  EXPECT_EQ(library.needed[0].name, "libm.so.6");
  EXPECT_THAT(library.needed[0].versions, ElementsAre("C"));
  EXPECT_EQ(library.needed[1].name, "libc.so.6");
  EXPECT_THAT(library.needed[1].versions, ElementsAre("A", "B"));
}

TEST(ElfLibrary, LeavesOutVersionsThatMayBeAbsent) {
  const ElfLibrary library = read(elf_bytes(
      {.versions = {{.library = "libc.so.6", .versions = {"A"}, .flags = VER_FLG_WEAK}}}));
  EXPECT_TRUE(library.needed.at(0).versions.empty());
}

TEST(ElfLibrary, IsSoundWhereALinkerMadeIt) {
  const ElfLibrary library = read(test::read_file(VCAP_TEST_PLUGINS "/good.so"));
  EXPECT_THAT(library.needed, testing::Contains(Field(&ElfLibrary::Needed::name, "libc.so.6")));
}

TEST(ElfLibrary, MayFindItsEntryByEitherHashTable) {
  const std::vector<ElfSymbol> symbols{
      {.name = "before"}, {}, {.name = "behind", .type = STT_OBJECT}};
  EXPECT_NO_THROW(read(elf_bytes({.symbols = symbols})));
  EXPECT_NO_THROW(read(elf_bytes({.symbols = symbols, .has_gnu_hash = false, .has_hash = true})));
  EXPECT_NO_THROW(read(elf_bytes({.symbols = symbols, .has_hash = true})));
}

TEST(ElfLibrary, MaySearchBelowItsOwnFolder) {
  for (const char* path :
       {"", "$ORIGIN", "${ORIGIN}", "$ORIGIN/", "$ORIGIN/lib:${ORIGIN}/a..b/c", "$ORIGIN//x"})
    EXPECT_NO_THROW(read(elf_bytes({.runpath = path}))) << path;
}

TEST(ElfLibrary, MayBeOfAnyProcessorForAPlatformThatIsUnknown) {
  EXPECT_NO_THROW(read(elf_bytes({.machine = EM_RISCV}), "linux-loongarch64"));
}

struct Case {
  const char* title;
  Elf elf;
  ErrorCode code;
  const char* message;

  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.title; }
};

class UnfitElfLibrary : public testing::TestWithParam<Case> {};

TEST_P(UnfitElfLibrary, IsRefusedWithItsFault) {
  EXPECT_THAT([] { read(elf_bytes(GetParam().elf)); },
              ThrowsError<ElfFault>(GetParam().code, HasSubstr(GetParam().message)));
}

const auto kName = [](const auto& one) { return std::string(one.param.title); };

INSTANTIATE_TEST_SUITE_P(
    Header, UnfitElfLibrary,
    testing::Values(
        Case{"Class", {.elf_class = ELFCLASS32}, ErrorCode::invalid_library, "64 bits"},
        Case{"Order", {.data = ELFDATA2MSB}, ErrorCode::invalid_library, "little-endian"},
        Case{"Version", {.version = 2}, ErrorCode::invalid_library, "version of ELF"},
        Case{"System", {.os_abi = ELFOSABI_FREEBSD}, ErrorCode::invalid_library, "OSABI 9"},
        Case{"Type", {.type = ET_EXEC}, ErrorCode::invalid_library, "ELF type 2"},
        Case{"Machine", {.machine = EM_RISCV}, ErrorCode::invalid_library, "processor 243"},
        Case{"HeaderSize", {.header_size = 52}, ErrorCode::invalid_library, "not ELF's"},
        Case{"SegmentSize", {.segment_size = 32}, ErrorCode::invalid_library, "not ELF's"},
        Case{"NoSegments", {.segment_count = 0}, ErrorCode::invalid_library, "0 segments"},
        Case{"ManySegments", {.segment_count = 0xffff}, ErrorCode::invalid_library, "65535"},
        Case{"SegmentsBeyond", {.segments_offset = ~7ull}, ErrorCode::invalid_library, "beyond"},
        Case{"Short",
             {.bytes = [](auto& b) { b.resize(63); }},
             ErrorCode::invalid_library,
             "is no ELF file"},
        Case{"CutShort",
             {.bytes = [](auto& b) { b.resize(b.size() - 1); }},
             ErrorCode::invalid_library,
             "ends before its segments"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Segments, UnfitElfLibrary,
    testing::Values(Case{"NoDynamic",
                         {.segments = [](auto& s) { s[test::kDynamic].p_type = PT_NOTE; }},
                         ErrorCode::invalid_library,
                         "no dynamic section"},
                    Case{"NothingToLoad",
                         {.segments =
                              [](auto& s) {
                                for (auto i : {0, 1, 2}) s[i].p_type = PT_NOTE;
                              }},
                         ErrorCode::invalid_library,
                         "nothing to load"},
                    Case{"Overlap",
                         {.segments = [](auto& s) { s[test::kTables].p_memsz = 4097; }},
                         ErrorCode::invalid_library,
                         "overlap"},
                    Case{"OutOfOrder",
                         {.segments = [](auto& s) { std::swap(s[test::kTables], s[test::kCode]); }},
                         ErrorCode::invalid_library,
                         "out of order"},
                    Case{"Unaligned",
                         {.segments = [](auto& s) { s[test::kCode].p_offset -= 8; }},
                         ErrorCode::invalid_library,
                         "not aligned"},
                    Case{"LessThanFile",
                         {.segments = [](auto& s) { s[test::kCode].p_memsz -= 1; }},
                         ErrorCode::invalid_library,
                         "less than its file"},
                    Case{"BeyondMemory",
                         {.segments = [](auto& s) { s[test::kData].p_memsz = ~0ull; }},
                         ErrorCode::invalid_library,
                         "beyond all memory"},
                    Case{"OtherDynamicOffset",
                         {.segments = [](auto& s) { s[test::kDynamic].p_offset = 0; }},
                         ErrorCode::invalid_library,
                         "another reader"},
                    Case{"NoStack",
                         {.segments = [](auto& s) { s[test::kStack].p_type = PT_NULL; }},
                         ErrorCode::unsafe_library,
                         "PT_GNU_STACK"},
                    Case{"ExecutableStack",
                         {.segments = [](auto& s) { s[test::kStack].p_flags |= PF_X; }},
                         ErrorCode::unsafe_library,
                         "executable stack"},
                    Case{"WritableCode",
                         {.segments = [](auto& s) { s[test::kCode].p_flags |= PF_W; }},
                         ErrorCode::unsafe_library,
                         "both written and run"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Dynamic, UnfitElfLibrary,
    testing::Values(
        Case{"NoEnd", {.has_dynamic_end = false}, ErrorCode::invalid_library, "section's end"},
        Case{"NoStrings", {.dynamic = {{DT_STRTAB, {}}}}, ErrorCode::invalid_library, "DT_STRTAB"},
        Case{"StringsBeyond",
             {.dynamic = {{DT_STRSZ, {1u << 20}}}},
             ErrorCode::invalid_library,
             "table of names"},
        Case{"StringsTwice",
             {.dynamic = {{DT_STRTAB, {64, 64}}}},
             ErrorCode::invalid_library,
             "twice"},
        Case{"NameBeyond", {.dynamic = {{DT_NEEDED, {9999}}}}, ErrorCode::invalid_library, "name"},
        Case{"NameWithoutEnd",
             {.tables = {{"strings", [](auto& t) { t.back() = 'x'; }}}},
             ErrorCode::invalid_library,
             "no end"},
        Case{
            "NamelessNeed", {.needed = {""}, .versions = {}}, ErrorCode::invalid_library, "a name"},
        Case{"NeedByPath", {.needed = {"/x.so"}}, ErrorCode::unsafe_library, "\"/x.so\""},
        Case{"NeedByOrigin", {.needed = {"$LIB"}}, ErrorCode::unsafe_library, "\"$LIB\""},
        Case{"Runpath", {.runpath = "$ORIGIN:/opt"}, ErrorCode::unsafe_library, "\"/opt\""},
        Case{"Rpath", {.rpath = "/opt"}, ErrorCode::unsafe_library, "\"/opt\""},
        Case{"RunpathUp", {.runpath = "$ORIGIN/a/../.."}, ErrorCode::unsafe_library, "$ORIGIN/a"},
        Case{"RunpathOther", {.runpath = "$ORIGINAL"}, ErrorCode::unsafe_library, "$ORIGINAL"},
        Case{"RunpathEmpty", {.runpath = "$ORIGIN:"}, ErrorCode::unsafe_library, "\"\""},
        Case{"Audit", {.dynamic = {{DT_AUDIT, {0}}}}, ErrorCode::unsafe_library, "DT_AUDIT"},
        Case{"DepAudit", {.dynamic = {{DT_DEPAUDIT, {0}}}}, ErrorCode::unsafe_library, "DEPAUDIT"},
        Case{"Filter", {.dynamic = {{DT_FILTER, {0}}}}, ErrorCode::unsafe_library, "DT_FILTER"},
        Case{"Auxiliary", {.dynamic = {{DT_AUXILIARY, {0}}}}, ErrorCode::unsafe_library, "AUX"},
        Case{"TextRel", {.dynamic = {{DT_TEXTREL, {0}}}}, ErrorCode::unsafe_library, "-fPIC"},
        Case{"TextRelFlag",
             {.dynamic = {{DT_FLAGS, {DF_TEXTREL}}}},
             ErrorCode::unsafe_library,
             "-fPIC"},
        Case{"Program",
             {.dynamic = {{DT_FLAGS_1, {DF_1_PIE}}}},
             ErrorCode::invalid_library,
             "a program"},
        Case{"NoOpen",
             {.dynamic = {{DT_FLAGS_1, {DF_1_NOOPEN}}}},
             ErrorCode::invalid_library,
             "nodlopen"},
        Case{"Relocations",
             {.dynamic = {{DT_RELA, {64}}, {DT_RELASZ, {24}}, {DT_RELAENT, {23}}}},
             ErrorCode::invalid_library,
             "relocations"},
        Case{"RelocationsBeyond",
             {.dynamic = {{DT_RELA, {64}}, {DT_RELASZ, {24000}}, {DT_RELAENT, {24}}}},
             ErrorCode::invalid_library,
             "relocations"},
        Case{"Calls", {.dynamic = {{DT_PLTREL, {DT_REL}}}}, ErrorCode::invalid_library, "calls"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Versions, UnfitElfLibrary,
    testing::Values(
        Case{"NoVersym", {.dynamic = {{DT_VERSYM, {}}}}, ErrorCode::invalid_library, "symbols"},
        Case{"OtherLibrary",
             {.versions = {{.library = "libm.so.6", .versions = {"A"}}}},
             ErrorCode::invalid_library,
             "\"libm.so.6\""},
        Case{"Count", {.dynamic = {{DT_VERNEEDNUM, {2}}}}, ErrorCode::invalid_library, "length"},
        Case{"NoCount", {.dynamic = {{DT_VERNEEDNUM, {}}}}, ErrorCode::invalid_library, "length"},
        Case{"Hash",
             {.tables = {{"needed", [](auto& t) { t[sizeof(Elf64_Verneed)] ^= 1; }}}},
             ErrorCode::invalid_library,
             "another hash"},
        Case{"Form",
             {.tables = {{"needed", [](auto& t) { t[0] = 2; }}}},
             ErrorCode::invalid_library,
             "another form"},
        Case{"Beyond",
             {.tables = {{"needed",
                          [](auto& t) {
                            test::elf::put(t, offsetof(Elf64_Verneed, vn_aux), 0xfffffff0u);
                          }}}},
             ErrorCode::invalid_library,
             "needed versions"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Entry, UnfitElfLibrary,
    testing::Values(
        Case{"Missing", {.symbols = {}}, ErrorCode::no_entry_symbol, "VCAP_CAPSULE"},
        Case{"MissingInOldTable",
             {.symbols = {{.name = "other"}}, .has_gnu_hash = false, .has_hash = true},
             ErrorCode::no_entry_symbol,
             "has no symbol"},
        Case{"Undefined",
             {.symbols = {{.section = SHN_UNDEF}}},
             ErrorCode::no_entry_symbol,
             "does not define"},
        Case{"Hidden",
             {.symbols = {{.visibility = STV_HIDDEN}}},
             ErrorCode::no_entry_symbol,
             "does not export"},
        Case{"Local", {.symbols = {{.binding = STB_LOCAL}}}, ErrorCode::no_entry_symbol, "export"},
        Case{"Object",
             {.symbols = {{.type = STT_OBJECT}}},
             ErrorCode::no_entry_symbol,
             "no function"},
        Case{"OutsideCode", {.symbols = {{.value = 0}}}, ErrorCode::no_entry_symbol, "no function"},
        Case{"NoTable", {.dynamic = {{DT_SYMTAB, {}}}}, ErrorCode::invalid_library, "DT_SYMTAB"},
        Case{"TableBeyond",
             {.dynamic = {{DT_SYMTAB, {~0ull}}}},
             ErrorCode::invalid_library,
             "symbols lies beyond"},
        Case{"EntrySize", {.dynamic = {{DT_SYMENT, {16}}}}, ErrorCode::invalid_library, "size"},
        Case{"NoHash", {.has_gnu_hash = false}, ErrorCode::invalid_library, "DT_GNU_HASH"},
        Case{"NoBuckets",
             {.tables = {{"gnu_hash", [](auto& t) { t[0] = 0; }}}},
             ErrorCode::invalid_library,
             "empty hash table"},
        Case{"OddFilter",
             {.tables = {{"gnu_hash", [](auto& t) { t[8] = 3; }}}},
             ErrorCode::invalid_library,
             "empty hash table"},
        Case{"HugeFilter",
             {.tables = {{"gnu_hash", [](auto& t) { t[11] = '\x40', t[8] = 0; }}}},
             ErrorCode::invalid_library,
             "beyond"},
        Case{"ChainWithoutEnd",
             {.symbols = {{.name = "other"}},
              .tables = {{"gnu_hash", [](auto& t) { t[28] = static_cast<char>(t[28] & ~1); }}},
              .segments = [](auto& s) { s[test::kTables].p_filesz = s[test::kTables].p_memsz; }},
             ErrorCode::no_entry_symbol,
             "has no symbol"},
        Case{"Circle",
             {.symbols = {{.name = "a"}, {.name = "b"}},
              .has_gnu_hash = false,
              .has_hash = true,
              .tables = {{"hash", [](auto& t) { t[20] = 1; }}}},
             ErrorCode::invalid_library,
             "in a circle"},
        Case{"LongChain",
             {.has_gnu_hash = false,
              .has_hash = true,
              .tables = {{"hash", [](auto& t) { test::elf::put(t, 4, ~0u); }}}},
             ErrorCode::invalid_library,
             "longer than its file"}),
    kName);

TEST(ElfLibrary, IsReadOrRefusedWithAnyOneByteChanged) {
  const std::string good = elf_bytes({.has_hash = true});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      try {
        read(bytes);
      } catch (const ElfFault&) {
      }
    }
  }
}

TEST(ElfLibrary, IsRefusedWhereverItIsCutShort) {
  const std::string good = elf_bytes();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(read(good.substr(0, size)), ElfFault) << size;
}

}  // namespace
}  // namespace vcap
