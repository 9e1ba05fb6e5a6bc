// SPDX-License-Identifier: Apache-2.0
// Scans the library of a plugin.
#include <cstdlib>

#include "fuzz/fuzz.hpp"
#include "loading/plugin/elf_library.hpp"
#include "vcap/base/abi.hpp"

FUZZ(bytes) {
  try {
    for (const auto& needed : vcap::read_elf_library(bytes, vcap::platform()).needed) {
      // These must be plain names of libraries, since the linker loads them next.
      if (needed.name.empty() || needed.name.find('/') != std::string::npos) std::abort();
    }
  } catch (const vcap::ElfFault&) {
  }
}
