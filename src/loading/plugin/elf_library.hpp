// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loading/plugin/elf_record.hpp"

namespace vcap {

/// What a plugin's library needs from a host, read from its ELF tables. Thread safety: value.
struct ElfLibrary {
  struct Needed {
    std::string name{};                   ///< as in DT_NEEDED: a plain "libfoo.so.1"
    std::vector<std::string> versions{};  ///< of its symbols, such as "GLIBC_2.34"
    bool has_versions = false;            ///< whether any version is named, also one that may lack
  };
  std::vector<Needed> needed{};  ///< in the order of loading
  /// Names that the library uses as thread-local variables; others may define them.
  std::set<std::string> thread_variables{};
  /// Names of its initialisers and finalisers; the linker calls what another library has under
  /// such a name, if it finds that first.
  std::set<std::string> called_functions{};
};

/// Reads a shared library that is to be a plugin on `platform`, as the dynamic linker would, but
/// loads and runs nothing. Checks everything that the linker follows before the library's own code
/// runs: segments, the dynamic section, names, symbols, hash tables, versions, relocations, and the
/// addresses that it calls. If vcap does not know the platform, the processor is not checked, nor
/// what its types of relocations do.
///
/// Throws ElfFault, with the remedy in its text. invalid_library: the bytes are not a shared
/// library for the platform, or the linker could not read them. unsafe_library: it has an
/// executable stack or writable code, or makes the linker search folders or load libraries of its
/// own choice. no_entry_symbol: it does not export kPluginEntrySymbol. Safe for any bytes.
/// Thread-safe.
ElfLibrary read_elf_library(std::span<const std::byte> bytes, std::string_view platform);

/// read_elf_library for a capsule's library. Throws InvalidCapsuleError: `subject` and the fault.
ElfLibrary check_elf_library(std::span<const std::byte> bytes, std::string_view platform,
                             const std::string& subject, const std::string& entry);

}  // namespace vcap
