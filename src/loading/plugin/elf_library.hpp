// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loading/plugin/elf_image.hpp"

namespace vcap {

/// What a plugin's library needs from a host, read from its ELF tables. Thread safety: value.
struct ElfLibrary {
  struct Needed {
    std::string name{};                   ///< as in DT_NEEDED: a plain "libfoo.so.1"
    std::vector<std::string> versions{};  ///< of its symbols, such as "GLIBC_2.34"
  };
  std::vector<Needed> needed{};  ///< in the order of loading
};

/// Reads a shared library that is to be a plugin on `platform`, as the dynamic linker would, but
/// loads and runs nothing. If vcap does not know the platform, the processor is not checked.
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
