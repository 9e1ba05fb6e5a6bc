// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/unfit_library.hpp"

/// Libraries whose tables would lead the dynamic linker astray: it checks none of these.
namespace vcap::test {

/// Types of relocations on this processor.
#if defined(__aarch64__)
inline constexpr std::uint32_t kRelative = R_AARCH64_RELATIVE, kAbsolute = R_AARCH64_ABS64,
                               kIndirect = R_AARCH64_IRELATIVE, kCopied = R_AARCH64_COPY,
                               kThreadOffset = R_AARCH64_TLS_TPREL,
                               kThreadLookup = R_AARCH64_TLSDESC, kCall = R_AARCH64_JUMP_SLOT;
#else
inline constexpr std::uint32_t kRelative = R_X86_64_RELATIVE, kAbsolute = R_X86_64_64,
                               kIndirect = R_X86_64_IRELATIVE, kCopied = R_X86_64_COPY,
                               kThreadOffset = R_X86_64_TPOFF64, kThreadLookup = R_X86_64_TLSDESC,
                               kCall = R_X86_64_JUMP_SLOT;
#endif

inline Elf64_Rela relocation(std::uint64_t at, std::uint32_t type, std::uint32_t symbol,
                             std::int64_t addend) {
  return {.r_offset = at, .r_info = ELF64_R_INFO(std::uint64_t{symbol}, type), .r_addend = addend};
}

/// A segment that describes bytes of the file.
inline Elf64_Phdr describes(std::uint32_t type, std::uint64_t at, std::uint64_t size,
                            std::uint64_t alignment) {
  return {.p_type = type,
          .p_flags = PF_R,
          .p_offset = at,
          .p_vaddr = at,
          .p_paddr = at,
          .p_filesz = size,
          .p_memsz = size,
          .p_align = alignment};
}

/// A library with room for relocations.
inline Elf with_relocations(std::vector<Elf64_Rela> relocations) {
  Elf elf;
  elf.writable = std::string(64, '\0');
  elf.relocations = std::move(relocations);
  return elf;
}

/// A library with one initialiser, whose place is kDataAt.
inline Elf with_initialiser(std::vector<Elf64_Rela> relocations) {
  Elf elf = with_relocations(std::move(relocations));
  elf.dynamic = {{DT_INIT_ARRAY, {kDataAt}}, {DT_INIT_ARRAYSZ, {8}}};
  return elf;
}

inline Elf with_packed(std::vector<std::uint64_t> packed) {
  Elf elf;
  elf.writable = std::string(64, '\0');
  elf.packed = std::move(packed);
  return elf;
}

/// A library with a second symbol.
inline Elf with_symbol(ElfSymbol symbol) {
  Elf elf;
  symbol.name = "other";
  elf.symbols.push_back(std::move(symbol));
  return elf;
}

inline Elf with_segment(const Elf64_Phdr& segment, std::string writable = {}) {
  Elf elf;
  elf.writable = std::move(writable);
  elf.more_segments = {segment};
  return elf;
}

inline Elf with_segments(std::function<void(std::vector<Elf64_Phdr>&)> change) {
  Elf elf;
  elf.segments = std::move(change);
  return elf;
}

inline Elf with_entries(std::map<std::int64_t, std::vector<std::uint64_t>> entries) {
  Elf elf;
  elf.writable = std::string(64, '\0');
  elf.dynamic = std::move(entries);
  return elf;
}

inline Elf with_table(const std::string& name, std::function<void(std::string&)> change) {
  Elf elf;
  elf.tables[name] = std::move(change);
  return elf;
}

inline Elf with_versions(std::function<void(std::string&)> change) {
  Elf elf = with_table("needed", std::move(change));
  elf.versions = {{.library = "libc.so.6", .versions = {"A", "B"}}};
  return elf;
}

inline Elf with_defined(std::function<void(std::string&)> change) {
  Elf elf = with_table("defined", std::move(change));
  elf.defined_versions = {"own.so", "A", "B"};
  return elf;
}

/// Where the value of an entry is in the finished file, if 64 bytes precede the dynamic section.
inline std::size_t value_place(const std::string& file, std::int64_t tag) {
  for (std::size_t at = kDataAt + 64; at + sizeof(Elf64_Dyn) <= file.size();
       at += sizeof(Elf64_Dyn))
    if (file.compare(at, sizeof(tag), elf::raw(tag)) == 0) return at + sizeof(tag);
  throw std::out_of_range("no such entry");
}

/// A library whose list of segments lies behind the contents of its last one.
inline Elf with_headers_behind_data() {
  Elf elf = with_segments([](auto& s) { s[kData].p_memsz += 2048; });
  elf.bytes = [](std::string& file) {
    const std::uint64_t place = file.size();
    file += file.substr(sizeof(Elf64_Ehdr), kFirstMore * sizeof(Elf64_Phdr));
    elf::put(file, offsetof(Elf64_Ehdr, e_phoff), place);
  };
  return elf;
}

/// A library whose table of relocations is empty, and begins where its table of calls ends.
inline Elf with_calls_up_to_relocations() {
  Elf elf = with_entries({{DT_RELA, {0}}, {DT_RELASZ, {0}}, {DT_RELAENT, {sizeof(Elf64_Rela)}}});
  elf.calls = {relocation(kDataAt, kCall, 1, 0)};
  elf.bytes = [](std::string& file) {
    std::uint64_t calls = 0;
    std::memcpy(&calls, file.data() + value_place(file, DT_JMPREL), sizeof(calls));
    elf::put(file, value_place(file, DT_RELA), calls + sizeof(Elf64_Rela));
  };
  return elf;
}

inline std::vector<UnfitLibrary> unfit_segments() {
  const auto invalid = ErrorCode::invalid_library;
  constexpr std::uint64_t kFar = 1u << 20;
  Elf64_Phdr larger = describes(PT_TLS, kDataAt, 16, 8);
  larger.p_memsz = 8;
  Elf64_Phdr huge = describes(PT_TLS, kDataAt, 8, 8);
  huge.p_memsz = 1u << 30;
  Elf64_Phdr uneven = describes(PT_NOTE, kDataAt, 24, 4);
  uneven.p_memsz = 28;
  Elf64_Phdr moved = describes(PT_NOTE, kDataAt, 24, 4);
  moved.p_offset = 64;
  const std::string note(24, '\0');
  std::string long_note = note;
  elf::put(long_note, 4, 4000u);
  std::string long_name = note;
  elf::put(long_name, 0, 0xffffffffu);
  Elf read_only_pages = with_segment(describes(PT_GNU_RELRO, kDataAt, 4 * 4096, 1), note);
  read_only_pages.segments = [](auto& s) { s[kData].p_align = 8 * 4096; };
  return {
      {"SegmentsInterpreter", with_segment(describes(PT_INTERP, 64, 8, 1)), invalid, "PT_INTERP"},
      {"SegmentsTwoDynamic", with_segment(describes(PT_DYNAMIC, kDataAt, 16, 8)), invalid,
       "two dynamic sections"},
      {"SegmentsTwoStacks", with_segment(describes(PT_GNU_STACK, 0, 0, 16)), invalid,
       "two descriptions of its stack"},
      {"SegmentsUnreadable", with_segments([](auto& s) { s[kCode].p_flags = PF_X; }), invalid,
       "cannot be read"},
      {"SegmentsNoRights", with_segments([](auto& s) { s[kTables].p_flags = 0; }), invalid,
       "cannot be read"},
      {"SegmentsZerosBehindCode", with_segments([](auto& s) { s[kCode].p_memsz += 8; }), invalid,
       "zeros behind its contents"},
      {"SegmentsFarApart",
       with_segments([](auto& s) { s[kData].p_memsz = std::uint64_t{1} << 40; }), invalid,
       "GiB of addresses"},
      {"SegmentsHighUp", with_segments([](auto& s) {
         for (const auto one : {kTables, kCode, kData}) s[one].p_vaddr += std::uint64_t{1} << 40;
       }),
       invalid, "GiB of addresses"},
      {"SegmentsHugeAlignment",
       with_segments([](auto& s) { s[kData].p_align = std::uint64_t{1} << 40; }), invalid,
       "not aligned"},
      {"SegmentsReadOnlyDynamic", with_segments([](auto& s) { s[kDynamic].p_flags = PF_R; }),
       invalid, "rodynamic"},
      {"SegmentsDynamicInReadOnly", with_segments([](auto& s) { s[kData].p_flags = PF_R; }),
       invalid, "rodynamic"},
      {"SegmentsDynamicMemory", with_segments([](auto& s) { s[kDynamic].p_memsz += 16; }), invalid,
       "impossible size or place"},
      {"SegmentsThreadLarger", with_segment(larger, note), invalid, "impossible size"},
      {"SegmentsThreadHuge", with_segment(huge, note), invalid, "impossible size"},
      {"SegmentsThreadNoAlignment", with_segment(describes(PT_TLS, kDataAt, 8, 0), note), invalid,
       "impossible alignment"},
      {"SegmentsThreadOddAlignment", with_segment(describes(PT_TLS, kDataAt, 8, 3), note), invalid,
       "impossible alignment"},
      {"SegmentsThreadHugeAlignment", with_segment(describes(PT_TLS, kDataAt, 8, kFar), note),
       invalid, "impossible alignment"},
      {"SegmentsThreadAtZero", with_segment(describes(PT_TLS, 0, 8, 8)), invalid,
       "impossible place"},
      {"SegmentsThreadBeyond", with_segment(describes(PT_TLS, kFar, 8, 8)), invalid,
       "thread-local data is beyond"},
      {"SegmentsReadOnlyPartOutside", with_segment(describes(PT_GNU_RELRO, 64, 16, 1)), invalid,
       "PT_GNU_RELRO"},
      {"SegmentsReadOnlyPartLong", with_segment(describes(PT_GNU_RELRO, kDataAt, kFar, 1), note),
       invalid, "PT_GNU_RELRO"},
      {"SegmentsReadOnlyPartBeyondItsPages", read_only_pages, invalid, "PT_GNU_RELRO"},
      {"SegmentsReadOnlyPartBeyond", with_segment(describes(PT_GNU_RELRO, kFar, 16, 1)), invalid,
       "PT_GNU_RELRO"},
      {"SegmentsHeadersElsewhere", with_segment(describes(PT_PHDR, 0, 56 * 6, 8)), invalid,
       "differs by address"},
      {"SegmentsHeadersShort", with_segment(describes(PT_PHDR, 64, 56, 8)), invalid,
       "differs by address"},
      {"SegmentsHeadersBeyond", with_segment(describes(PT_PHDR, kFar, 56 * 6, 8)), invalid,
       "beyond"},
      {"SegmentsHeadersInZeros", with_headers_behind_data(), invalid, "writes zeros"},
      {"SegmentsFramesBeyond", with_segment(describes(PT_GNU_EH_FRAME, kFar, 8, 4)), invalid,
       "beyond"},
      {"SegmentsFramesFormat", with_segment(describes(PT_GNU_EH_FRAME, 0, 8, 4)), invalid,
       "unknown format"},
      {"SegmentsNotesBeyond", with_segment(describes(PT_NOTE, kFar, 24, 4)), invalid, "beyond"},
      {"SegmentsNotesUneven", with_segment(uneven, note + note), invalid, "list of notes differs"},
      {"SegmentsNotesMoved", with_segment(moved, note), invalid, "list of notes differs"},
      {"SegmentsNoteLong", with_segment(describes(PT_NOTE, kDataAt, 24, 4), long_note), invalid,
       "list of notes"},
      {"SegmentsNoteLongName", with_segment(describes(PT_NOTE, kDataAt, 24, 4), long_name), invalid,
       "list of notes"},
      {"SegmentsPropertyLong", with_segment(describes(PT_GNU_PROPERTY, kDataAt, 24, 8), long_note),
       invalid, "list of notes"}};
}

inline std::vector<UnfitLibrary> unfit_entries() {
  const auto invalid = ErrorCode::invalid_library;
  const auto unsafe = ErrorCode::unsafe_library;
  constexpr std::uint64_t kFar = 1u << 20;
  Elf long_need;
  long_need.needed = {std::string(256, 'n')};
  long_need.versions.clear();
  Elf long_path;
  long_path.runpath = "$ORIGIN/" + std::string(4096, 'p');
  return {
      {"DynamicLongNeed", long_need, invalid, "name has 256 bytes"},
      {"DynamicLongRunpath", long_path, unsafe, "of 4104 bytes; 4096 are allowed"},
      // As numbers of versions, the first entry is right, but the linker changes others.
      {"DynamicHoldsVersions", with_entries({{DT_VERSYM, {kDataAt + 64}}}), invalid,
       "versions overlaps its dynamic section"},
      {"DynamicUnknown", with_entries({{0x6ffffdf8, {0}}}), invalid, "0x6ffffdf8"},
      {"DynamicUnknownLow", with_entries({{38, {0}}}), invalid, "0x26"},
      {"DynamicNegative", with_entries({{-5, {0}}}), invalid, "0xfffffffffffffffb"},
      {"DynamicOldRelocations", with_entries({{DT_REL, {64}}, {DT_RELSZ, {16}}, {DT_RELENT, {16}}}),
       invalid, "does not know"},
      {"DynamicPreinit", with_entries({{DT_PREINIT_ARRAY, {kDataAt}}}), unsafe, "DT_PREINIT_ARRAY"},
      {"DynamicConfig", with_entries({{DT_CONFIG, {0}}}), unsafe, "DT_CONFIG"},
      {"DynamicUnknownFlags", with_entries({{DT_FLAGS, {0x100}}}), invalid, "DT_FLAGS is 0x100"},
      {"DynamicInterposer", with_entries({{DT_FLAGS_1, {DF_1_INTERPOSE}}}), invalid,
       "DT_FLAGS_1 is 0x400"},
      {"DynamicInitialisedFirst", with_entries({{DT_FLAGS_1, {DF_1_INITFIRST}}}), invalid,
       "DT_FLAGS_1 is 0x20"},
      {"DynamicTwice", with_entries({{DT_SONAME, {0, 0}}}), invalid, "twice"},
      {"DynamicOwnName", with_entries({{DT_SONAME, {99999}}}), invalid, "name"},
      {"DynamicNoRelocationSize", with_entries({{DT_RELA, {64}}}), invalid, "lacks"},
      {"DynamicRelocationSizeAlone", with_entries({{DT_RELASZ, {24}}}), invalid, "lacks"},
      {"DynamicNoCallKind", with_entries({{DT_JMPREL, {64}}, {DT_PLTRELSZ, {24}}}), invalid,
       "lacks"},
      {"DynamicCallKindAlone", with_entries({{DT_PLTREL, {DT_RELA}}}), invalid, "lacks"},
      {"DynamicNoInitialiserSize", with_entries({{DT_INIT_ARRAY, {kDataAt}}}), invalid, "lacks"},
      {"DynamicOddInitialisers", with_entries({{DT_INIT_ARRAY, {kDataAt}}, {DT_INIT_ARRAYSZ, {7}}}),
       invalid, "impossible size"},
      {"DynamicInitialisersBeyond", with_entries({{DT_INIT_ARRAY, {kFar}}, {DT_INIT_ARRAYSZ, {8}}}),
       invalid, "beyond"},
      {"DynamicInitialisersUnaligned",
       with_entries({{DT_INIT_ARRAY, {kDataAt + 4}}, {DT_INIT_ARRAYSZ, {8}}}), invalid,
       "unaligned"},
      {"DynamicInitialiserInData", with_entries({{DT_INIT, {kDataAt}}}), invalid,
       "(DT_INIT) is at 0x2000, where no code is"},
      {"DynamicFinaliserInData", with_entries({{DT_FINI, {kDataAt}}}), invalid,
       "(DT_FINI) is at 0x2000, where no code is"},
      {"DynamicFinaliserAtZero", with_entries({{DT_FINI, {0}}}), invalid, "no code"},
      {"DynamicReadOnlyAddresses", with_entries({{DT_PLTGOT, {64}}}), invalid, "DT_PLTGOT"},
      {"DynamicLookupInData", with_entries({{DT_TLSDESC_PLT, {kDataAt}}}), invalid,
       "DT_TLSDESC_PLT"},
      {"DynamicLookupReadOnly", with_entries({{DT_TLSDESC_GOT, {64}}}), invalid, "DT_TLSDESC_GOT"}};
}

inline std::vector<UnfitLibrary> unfit_symbols() {
  const auto invalid = ErrorCode::invalid_library;
  constexpr std::uint64_t kNowhere = std::uint64_t{1} << 40;
  Elf nameless = with_symbol({});
  nameless.tables["symbols"] = [](auto& t) { elf::put(t, 2 * sizeof(Elf64_Sym), 0xffffffu); };
  Elf beyond_chains;
  beyond_chains.has_gnu_hash = false;
  beyond_chains.has_hash = true;
  beyond_chains.tables["hash"] = [](auto& t) { elf::put(t, 8, 9u); };
  return {
      {"SymbolName", nameless, invalid, "symbol 2 has a name beyond"},
      {"SymbolBinding", with_symbol({.binding = 5}), invalid, "unknown kind"},
      {"SymbolType", with_symbol({.type = 13}), invalid, "unknown kind"},
      {"SymbolZero", with_table("symbols", [](auto& t) { t[8] = 1; }), invalid,
       "symbol 0 is not empty"},
      {"SymbolSection", with_symbol({.section = SHN_COMMON}), invalid, "reserved section"},
      {"SymbolFunctionInData", with_symbol({.value = 64}), invalid, "where no code is"},
      {"SymbolIndirectInData", with_symbol({.type = STT_GNU_IFUNC, .value = 64}), invalid,
       "where no code is"},
      {"SymbolAbsoluteFunction", with_symbol({.section = SHN_ABS}), invalid, "where no code is"},
      {"SymbolNowhere", with_symbol({.type = STT_OBJECT, .value = kNowhere}), invalid,
       "beyond the library"},
      {"SymbolThreadWithoutData", with_symbol({.type = STT_TLS, .value = 0}), invalid,
       "thread-local data"},
      {"HashShift", with_table("gnu_hash", [](auto& t) { t[12] = 64; }), invalid,
       "does not match its hash table"},
      {"HashFirstSymbol", with_table("gnu_hash", [](auto& t) { t[4] = 0; }), invalid,
       "does not match its hash table"},
      {"HashBucketBelow", with_table("gnu_hash", [](auto& t) { t[4] = 2; }), invalid,
       "does not match its hash table"},
      {"HashBucketBeyond", with_table("gnu_hash", [](auto& t) { elf::put(t, 24, 0xffffffu); }),
       invalid, "beyond"},
      {"HashManyBuckets", with_table("gnu_hash", [](auto& t) { elf::put(t, 0, 0xffffffu); }),
       invalid, "beyond"},
      {"HashChainBeyond", beyond_chains, invalid, "cycle in its hash table"}};
}

inline std::vector<UnfitLibrary> unfit_versions() {
  const auto invalid = ErrorCode::invalid_library;
  constexpr std::size_t kAux = sizeof(Elf64_Verneed), kDef = sizeof(Elf64_Verdef);
  constexpr std::size_t kSecond = kDef + sizeof(Elf64_Verdaux);
  const auto put16 = [](std::size_t at, std::uint16_t value) {
    return [=](std::string& table) { elf::put(table, at, value); };
  };
  Elf symbols_only = with_entries({{DT_VERSYM, {64}}});
  symbols_only.versions.clear();
  Elf unlisted = with_table("versions", put16(2, 9));
  Elf hidden_unlisted = with_table("versions", put16(2, 0x8009));
  Elf three = with_defined([](auto&) {});
  three.dynamic = {{DT_VERDEFNUM, {4}}};
  Elf unnumbered = with_defined([](auto&) {});
  unnumbered.dynamic = {{DT_VERDEFNUM, {}}};
  return {
      {"VersionsUnlisted", unlisted, invalid, "symbol 1 has the version 9"},
      {"VersionsHiddenUnlisted", hidden_unlisted, invalid, "symbol 1 has the version 9"},
      {"VersionsOfSymbolsOnly", symbols_only, invalid, "lists no versions"},
      {"VersionsOfSymbolsBeyond", with_entries({{DT_VERSYM, {1u << 20}}}), invalid, "beyond"},
      {"VersionsNone", with_versions(put16(2, 0)), invalid, "library without versions"},
      {"VersionsIndexTwice", with_versions(put16(kAux + sizeof(Elf64_Vernaux) + 6, 2)), invalid,
       "index of another"},
      {"VersionsIndexGlobal", with_versions(put16(kAux + 6, 1)), invalid, "index of another"},
      {"VersionsIndexLocal", with_versions(put16(kAux + 6, 0)), invalid, "index of another"},
      {"VersionsNameBeyond", with_versions([](auto& t) { elf::put(t, kAux + 8, 0xffffffu); }),
       invalid, "name"},
      {"VersionsNextBeyond", with_versions([](auto& t) { elf::put(t, kAux + 12, 0xfffffff0u); }),
       invalid, "beyond"},
      {"VersionsUnaligned", with_entries({{DT_VERNEED, {65}}}), invalid, "unaligned"},
      {"VersionsDefinedForm", with_defined(put16(0, 2)), invalid, "unknown format"},
      {"VersionsDefinedHash", with_defined([](auto& t) { t[kSecond + 8] ^= 1; }), invalid,
       "wrong hash"},
      {"VersionsDefinedCount", three, invalid, "length"},
      {"VersionsDefinedNoCount", unnumbered, invalid, "length"},
      {"VersionsDefinedNameless", with_defined(put16(kSecond + 6, 0)), invalid, "without a name"},
      {"VersionsDefinedNames", with_defined(put16(kSecond + 6, 2)), invalid, "length"},
      {"VersionsDefinedBase", with_defined(put16(4, 2)), invalid, "base version"},
      {"VersionsDefinedTwice", with_defined(put16(kSecond + 4, 102)), invalid, "index of another"},
      {"VersionsDefinedBeyond",
       with_defined([](auto& t) { elf::put(t, kSecond + 16, 0xfffffff0u); }), invalid, "beyond"}};
}

inline std::vector<UnfitLibrary> unfit_relocations() {
  const auto invalid = ErrorCode::invalid_library;
  constexpr auto kFar = std::int64_t{1} << 40;
  constexpr std::uint64_t kDynamicAt = kDataAt + 64;  // with_relocations() has 64 bytes before it
  Elf counted = with_relocations({relocation(kDataAt, kRelative, 0, kCodeAt)});
  counted.dynamic = {{DT_RELACOUNT, {2}}};
  Elf not_relative = with_relocations({relocation(kDataAt, kAbsolute, 1, 0)});
  not_relative.dynamic = {{DT_RELACOUNT, {1}}};
  Elf call;
  call.writable = std::string(64, '\0');
  call.calls = {relocation(64, kCall, 1, 0)};
  Elf finaliser = with_relocations({relocation(kDataAt + 8, kRelative, 0, kCodeAt)});
  finaliser.dynamic = {{DT_FINI_ARRAY, {kDataAt}}, {DT_FINI_ARRAYSZ, {16}}};
  Elf packed_initialiser = with_packed({kDataAt});
  packed_initialiser.dynamic = {{DT_INIT_ARRAY, {kDataAt}}, {DT_INIT_ARRAYSZ, {8}}};
  Elf hidden_thread = with_relocations({relocation(kDataAt, kThreadOffset, 2, 0)});
  hidden_thread.symbols.push_back({.name = "mine",
                                   .type = STT_TLS,
                                   .visibility = STV_HIDDEN,
                                   .section = SHN_UNDEF,
                                   .value = 0});
  Elf local_thread = hidden_thread;
  local_thread.symbols.back().visibility = STV_DEFAULT;
  local_thread.symbols.back().binding = STB_LOCAL;
  Elf twin_thread = with_relocations({relocation(kDataAt, kThreadOffset, 2, 0)});
  twin_thread.symbols.push_back(
      {.name = "twin", .type = STT_TLS, .section = SHN_UNDEF, .value = 0});
  twin_thread.symbols.push_back({.name = "twin", .type = STT_OBJECT, .value = kDataAt});
  Elf twin_initialiser = with_initialiser({relocation(kDataAt, kAbsolute, 2, 0)});
  twin_initialiser.symbols.push_back({.name = "twin"});
  twin_initialiser.symbols.push_back({.name = "twin", .type = STT_OBJECT, .value = kDataAt});
  const auto code = static_cast<std::int64_t>(kCodeAt);
  const auto data = static_cast<std::int64_t>(kDataAt);
  return {
      {"RelocationType", with_relocations({relocation(kDataAt, 1023, 0, 0)}), invalid,
       "the type 1023"},
      {"RelocationCopy", with_relocations({relocation(kDataAt, kCopied, 1, 0)}), invalid,
       "the type"},
      {"RelocationSymbol", with_relocations({relocation(kDataAt, kAbsolute, 2, 0)}), invalid,
       "the symbol 2, but there are only 2"},
      {"RelocationReadOnly", with_relocations({relocation(64, kRelative, 0, code)}), invalid,
       "writes to 0x40, which is not writable"},
      {"RelocationOfCode", with_relocations({relocation(kCodeAt, kRelative, 0, code)}), invalid,
       "not writable"},
      {"RelocationBeyond",
       with_relocations({relocation(static_cast<std::uint64_t>(kFar), kRelative, 0, code)}),
       invalid, "not writable"},
      {"RelocationWraps", with_relocations({relocation(~std::uint64_t{3}, kRelative, 0, code)}),
       invalid, "not writable"},
      {"RelocationOfDynamic", with_relocations({relocation(kDynamicAt, kRelative, 0, code)}),
       invalid, "is in the dynamic section"},
      {"RelocationBeforeDynamic",
       with_relocations({relocation(kDynamicAt - 4, kRelative, 0, code)}), invalid,
       "is in the dynamic section"},
      {"RelocationAddress", with_relocations({relocation(kDataAt, kRelative, 0, kFar)}), invalid,
       "beyond the library"},
      {"RelocationNegative", with_relocations({relocation(kDataAt, kRelative, 0, -1)}), invalid,
       "beyond the library"},
      {"RelocationNeedlessSymbol", with_relocations({relocation(kDataAt, kRelative, 1, code)}),
       invalid, "has a symbol"},
      {"RelocationCallsData", with_relocations({relocation(kDataAt, kIndirect, 0, data)}), invalid,
       "calls 0x2000, where no code is"},
      {"RelocationCount", counted, invalid, "DT_RELACOUNT) is 2"},
      {"RelocationCountedOther", not_relative, invalid, "is not relative"},
      {"RelocationThread", with_relocations({relocation(kDataAt, kThreadOffset, 0, 0)}), invalid,
       "which the library does not have"},
      {"RelocationThreadFunction", with_relocations({relocation(kDataAt, kThreadOffset, 1, 0)}),
       invalid, "is not one"},
      {"RelocationThreadHidden", hidden_thread, invalid, "which the library does not have"},
      {"RelocationThreadLocal", local_thread, invalid, "which the library does not have"},
      {"RelocationThreadLookup", with_relocations({relocation(kDataAt, kThreadLookup, 1, 0)}),
       invalid, "is not one"},
      {"RelocationLookupAtEnd", with_relocations({relocation(kDynamicAt - 8, kThreadLookup, 1, 0)}),
       invalid, "is in the dynamic section"},
      {"RelocationThreadTwin", twin_thread, invalid, "symbol 3 has the name of a thread-local"},
      {"RelocationInitialiserTwin", twin_initialiser, invalid,
       "symbol 3 has the name of an initialiser"},
      {"RelocationTableUnaligned",
       with_entries({{DT_RELA, {65}}, {DT_RELASZ, {24}}, {DT_RELAENT, {24}}}), invalid,
       "unaligned"},
      {"RelocationTablesOverlap",
       with_entries({{DT_RELA, {64}},
                     {DT_RELASZ, {48}},
                     {DT_RELAENT, {24}},
                     {DT_JMPREL, {64}},
                     {DT_PLTRELSZ, {24}},
                     {DT_PLTREL, {DT_RELA}}}),
       invalid, "overlaps"},
      {"RelocationTablesMeet", with_calls_up_to_relocations(), invalid, "overlaps"},
      {"RelocationOfCall", call, invalid, "table of calls: its entry 0 writes to 0x40"},
      {"InitialiserNotRelocated", with_initialiser({}), invalid, "is not relocated"},
      {"InitialiserInData", with_initialiser({relocation(kDataAt, kRelative, 0, data)}), invalid,
       "wrong address"},
      {"InitialiserTwice",
       with_initialiser(
           {relocation(kDataAt, kRelative, 0, code), relocation(kDataAt, kRelative, 0, code)}),
       invalid, "wrong address"},
      {"InitialiserAcross", with_initialiser({relocation(kDataAt + 4, kRelative, 0, code)}),
       invalid, "wrong address"},
      {"InitialiserBeforeSymbol", with_initialiser({relocation(kDataAt, kAbsolute, 1, -1)}),
       invalid, "wrong address"},
      {"InitialiserOfNothing", with_initialiser({relocation(kDataAt, kAbsolute, 0, code)}), invalid,
       "wrong address"},
      {"InitialiserByCall", with_initialiser({relocation(kDataAt, kCall, 1, 0)}), invalid,
       "wrong address"},
      {"FinaliserNotRelocated", finaliser, invalid, "at 0x2000 is not relocated"},
      {"PackedBitsFirst", with_packed({3}), invalid, "no address before it"},
      {"PackedReadOnly", with_packed({64}), invalid, "not writable"},
      {"PackedBeyond", with_packed({static_cast<std::uint64_t>(kFar)}), invalid, "not writable"},
      {"PackedOfDynamic", with_packed({kDynamicAt}), invalid, "is in the dynamic section"},
      {"PackedManyBits", with_packed({kDataAt, ~std::uint64_t{0}}), invalid,
       "is in the dynamic section"},
      {"PackedInitialiser", packed_initialiser, invalid, "wrong address"}};
}

inline std::vector<UnfitLibrary> unfit_tables() {
  std::vector<UnfitLibrary> all;
  for (auto* const part :
       {&unfit_segments, &unfit_entries, &unfit_symbols, &unfit_versions, &unfit_relocations})
    for (UnfitLibrary& one : part()) all.push_back(std::move(one));
  return all;
}

}  // namespace vcap::test
