// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "loading/plugin/elf_symbols.hpp"

namespace vcap {

/// Names of symbols that other libraries may define, too, and that the linker itself uses. Thread
/// safety: value.
struct ElfUsedNames {
  std::set<std::string> thread_variables{};
  std::set<std::string> called_functions{};
};

/// Checks every relocation of a library, and every address that the linker calls: DT_INIT, DT_FINI
/// and their lists. `tables` are those that no relocation may change. Throws ElfFault
/// (invalid_library). Thread-safe.
ElfUsedNames check_relocations(const ElfImage& image, const ElfSymbols& symbols, ElfRanges tables);

}  // namespace vcap
