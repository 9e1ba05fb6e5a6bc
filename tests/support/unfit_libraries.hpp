// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/elf_writer.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {

/// A library that is wrong in one way.
struct UnfitLibrary {
  const char* name;  ///< unique
  Elf elf;
  ErrorCode code;
  const char* message;  ///< a part of the error message

  friend void PrintTo(const UnfitLibrary& one, std::ostream* out) { *out << one.name; }
};

inline std::vector<UnfitLibrary> unfit_libraries() {
  const auto invalid = ErrorCode::invalid_library;
  const auto unsafe = ErrorCode::unsafe_library;
  const auto no_entry = ErrorCode::no_entry_symbol;
  return {
      // Header
      {"HeaderClass", {.elf_class = ELFCLASS32}, invalid, "64-bit"},
      {"HeaderOrder", {.data = ELFDATA2MSB}, invalid, "little-endian"},
      {"HeaderVersion", {.version = 2}, invalid, "ELF version other than 1"},
      {"HeaderSystem", {.os_abi = ELFOSABI_FREEBSD}, invalid, "OSABI 9"},
      {"HeaderType", {.type = ET_EXEC}, invalid, "ELF type 2"},
      {"HeaderMachine", {.machine = EM_RISCV}, invalid, "processor 243"},
      {"HeaderHeaderSize", {.header_size = 52}, invalid, "sizes in its header"},
      {"HeaderSegmentSize", {.segment_size = 32}, invalid, "sizes in its header"},
      {"HeaderNoSegments", {.segment_count = 0}, invalid, "0 segments"},
      {"HeaderManySegments", {.segment_count = 0xffff}, invalid, "65535"},
      {"HeaderSegmentsBeyond", {.segments_offset = ~7ull}, invalid, "beyond"},
      {"HeaderShort", {.bytes = [](auto& b) { b.resize(63); }}, invalid, "is not an ELF file"},
      {"HeaderCutShort",
       {.bytes = [](auto& b) { b.resize(b.size() - 1); }},
       invalid,
       "ends before its segments"},
      // Segments
      {"SegmentsNoDynamic",
       {.segments = [](auto& s) { s[kDynamic].p_type = PT_NOTE; }},
       invalid,
       "no dynamic section"},
      {"SegmentsNothingToLoad",
       {.segments =
            [](auto& s) {
              for (auto i : {0, 1, 2}) s[i].p_type = PT_NOTE;
            }},
       invalid,
       "nothing to load"},
      {"SegmentsOverlap",
       {.segments = [](auto& s) { s[kTables].p_memsz = 4097; }},
       invalid,
       "overlap"},
      {"SegmentsOutOfOrder",
       {.segments = [](auto& s) { std::swap(s[kTables], s[kCode]); }},
       invalid,
       "out of order"},
      {"SegmentsUnaligned",
       {.segments = [](auto& s) { s[kCode].p_offset -= 8; }},
       invalid,
       "not aligned"},
      {"SegmentsLessThanFile",
       {.segments = [](auto& s) { s[kCode].p_memsz -= 1; }},
       invalid,
       "larger in the file than in memory"},
      {"SegmentsBeyondMemory",
       {.segments = [](auto& s) { s[kData].p_memsz = ~0ull; }},
       invalid,
       "beyond the address space"},
      {"SegmentsOtherDynamicOffset",
       {.segments = [](auto& s) { s[kDynamic].p_offset = 0; }},
       invalid,
       "differs by address"},
      {"SegmentsNoStack",
       {.segments = [](auto& s) { s[kStack].p_type = PT_NULL; }},
       unsafe,
       "PT_GNU_STACK"},
      {"SegmentsExecutableStack",
       {.segments = [](auto& s) { s[kStack].p_flags |= PF_X; }},
       unsafe,
       "executable stack"},
      {"SegmentsWritableCode",
       {.segments = [](auto& s) { s[kCode].p_flags |= PF_W; }},
       unsafe,
       "both writable and executable"},
      // Dynamic
      {"DynamicNoEnd", {.has_dynamic_end = false}, invalid, "section's end"},
      {"DynamicNoStrings", {.dynamic = {{DT_STRTAB, {}}}}, invalid, "DT_STRTAB"},
      {"DynamicStringsBeyond", {.dynamic = {{DT_STRSZ, {1u << 20}}}}, invalid, "table of names"},
      {"DynamicStringsTwice", {.dynamic = {{DT_STRTAB, {64, 64}}}}, invalid, "twice"},
      {"DynamicNameBeyond", {.dynamic = {{DT_NEEDED, {9999}}}}, invalid, "name"},
      {"DynamicNameWithoutEnd",
       {.tables = {{"strings", [](auto& t) { t.back() = 'x'; }}}},
       invalid,
       "not terminated"},
      {"DynamicNamelessNeed", {.needed = {""}, .versions = {}}, invalid, "a name"},
      {"DynamicNeedByPath", {.needed = {"/x.so"}}, unsafe, "\"/x.so\""},
      {"DynamicNeedByOrigin", {.needed = {"$LIB"}}, unsafe, "\"$LIB\""},
      {"DynamicRunpath", {.runpath = "$ORIGIN:/opt"}, unsafe, "\"/opt\""},
      {"DynamicRpath", {.rpath = "/opt"}, unsafe, "\"/opt\""},
      {"DynamicRunpathUp", {.runpath = "$ORIGIN/a/../.."}, unsafe, "$ORIGIN/a"},
      {"DynamicRunpathOther", {.runpath = "$ORIGINAL"}, unsafe, "$ORIGINAL"},
      {"DynamicRunpathEmpty", {.runpath = "$ORIGIN:"}, unsafe, "\"\""},
      {"DynamicAudit", {.dynamic = {{DT_AUDIT, {0}}}}, unsafe, "DT_AUDIT"},
      {"DynamicDepAudit", {.dynamic = {{DT_DEPAUDIT, {0}}}}, unsafe, "DEPAUDIT"},
      {"DynamicFilter", {.dynamic = {{DT_FILTER, {0}}}}, unsafe, "DT_FILTER"},
      {"DynamicAuxiliary", {.dynamic = {{DT_AUXILIARY, {0}}}}, unsafe, "AUX"},
      {"DynamicTextRel", {.dynamic = {{DT_TEXTREL, {0}}}}, unsafe, "-fPIC"},
      {"DynamicTextRelFlag", {.dynamic = {{DT_FLAGS, {DF_TEXTREL}}}}, unsafe, "-fPIC"},
      {"DynamicProgram", {.dynamic = {{DT_FLAGS_1, {DF_1_PIE}}}}, invalid, "is a program"},
      {"DynamicNoOpen", {.dynamic = {{DT_FLAGS_1, {DF_1_NOOPEN}}}}, invalid, "nodlopen"},
      {"DynamicRelocations",
       {.dynamic = {{DT_RELA, {64}}, {DT_RELASZ, {24}}, {DT_RELAENT, {23}}}},
       invalid,
       "relocations"},
      {"DynamicRelocationsBeyond",
       {.dynamic = {{DT_RELA, {64}}, {DT_RELASZ, {24000}}, {DT_RELAENT, {24}}}},
       invalid,
       "relocations"},
      {"DynamicCalls", {.dynamic = {{DT_PLTREL, {DT_REL}}}}, invalid, "calls"},
      // Versions
      {"VersionsNoVersym", {.dynamic = {{DT_VERSYM, {}}}}, invalid, "symbols"},
      {"VersionsOtherLibrary",
       {.versions = {{.library = "libm.so.6", .versions = {"A"}}}},
       invalid,
       "\"libm.so.6\""},
      {"VersionsCount", {.dynamic = {{DT_VERNEEDNUM, {2}}}}, invalid, "length"},
      {"VersionsNoCount", {.dynamic = {{DT_VERNEEDNUM, {}}}}, invalid, "length"},
      {"VersionsHash",
       {.tables = {{"needed", [](auto& t) { t[sizeof(Elf64_Verneed)] ^= 1; }}}},
       invalid,
       "wrong hash"},
      {"VersionsForm",
       {.tables = {{"needed", [](auto& t) { t[0] = 2; }}}},
       invalid,
       "unknown format"},
      {"VersionsBeyond",
       {.tables = {{"needed",
                    [](auto& t) { elf::put(t, offsetof(Elf64_Verneed, vn_aux), 0xfffffff0u); }}}},
       invalid,
       "needed versions"},
      // Entry
      {"EntryMissing", {.symbols = {}}, no_entry, "VCAP_CAPSULE"},
      {"EntryMissingInOldTable",
       {.symbols = {{.name = "other"}}, .has_gnu_hash = false, .has_hash = true},
       no_entry,
       "has no symbol"},
      {"EntryUndefined", {.symbols = {{.section = SHN_UNDEF}}}, no_entry, "does not define"},
      {"EntryHidden", {.symbols = {{.visibility = STV_HIDDEN}}}, no_entry, "does not export"},
      {"EntryLocal", {.symbols = {{.binding = STB_LOCAL}}}, no_entry, "export"},
      {"EntryObject", {.symbols = {{.type = STT_OBJECT}}}, no_entry, "not a function"},
      {"EntryOutsideCode", {.symbols = {{.value = 0}}}, no_entry, "not a function"},
      {"EntryNoTable", {.dynamic = {{DT_SYMTAB, {}}}}, invalid, "DT_SYMTAB"},
      {"EntryTableBeyond", {.dynamic = {{DT_SYMTAB, {~0ull}}}}, invalid, "symbols is beyond"},
      {"EntryEntrySize", {.dynamic = {{DT_SYMENT, {16}}}}, invalid, "size"},
      {"EntryNoHash", {.has_gnu_hash = false}, invalid, "DT_GNU_HASH"},
      {"EntryNoBuckets",
       {.tables = {{"gnu_hash", [](auto& t) { t[0] = 0; }}}},
       invalid,
       "empty hash table"},
      {"EntryOddFilter",
       {.tables = {{"gnu_hash", [](auto& t) { t[8] = 3; }}}},
       invalid,
       "empty hash table"},
      {"EntryHugeFilter",
       {.tables = {{"gnu_hash", [](auto& t) { t[11] = '\x40', t[8] = 0; }}}},
       invalid,
       "beyond"},
      {"EntryChainWithoutEnd",
       {.symbols = {{.name = "other"}},
        .tables = {{"gnu_hash", [](auto& t) { t[28] = static_cast<char>(t[28] & ~1); }}},
        .segments = [](auto& s) { s[kTables].p_filesz = s[kTables].p_memsz; }},
       no_entry,
       "has no symbol"},
      {"EntryCircle",
       {.symbols = {{.name = "a"}, {.name = "b"}},
        .has_gnu_hash = false,
        .has_hash = true,
        .tables = {{"hash", [](auto& t) { t[20] = 1; }}}},
       invalid,
       "cycle in its hash table"},
      {"EntryLongChain",
       {.has_gnu_hash = false,
        .has_hash = true,
        .tables = {{"hash", [](auto& t) { elf::put(t, 4, ~0u); }}}},
       invalid,
       "longer than the file"}};
}

}  // namespace vcap::test
