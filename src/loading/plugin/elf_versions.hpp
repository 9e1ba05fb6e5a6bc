// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "loading/plugin/elf_library.hpp"
#include "loading/plugin/elf_symbols.hpp"

namespace vcap {

/// Checks the tables that say which versions the symbols of a library have: DT_VERNEED, DT_VERDEF
/// and DT_VERSYM. Adds the needed versions to `needed`, and the tables to `tables`. Throws ElfFault
/// (invalid_library). Thread-safe.
void read_versions(const ElfImage& image, const ElfSymbols& symbols,
                   std::vector<ElfLibrary::Needed>& needed, ElfRanges& tables);

}  // namespace vcap
