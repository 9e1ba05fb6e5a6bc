// SPDX-License-Identifier: Apache-2.0
// The scan of a plugin's library.
#include <cstdlib>

#include "fuzz/fuzz.hpp"
#include "loading/plugin/elf_library.hpp"
#include "vcap/base/abi.hpp"

FUZZ(bytes) {
  try {
    for (const auto& needed : vcap::read_elf_library(bytes, vcap::platform()).needed) {
      // Bare names of libraries, which the linker is asked for next.
      if (needed.name.empty() || needed.name.find('/') != std::string::npos) std::abort();
    }
  } catch (const vcap::ElfFault&) {
  }
}
