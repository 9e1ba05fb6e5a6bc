// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "loading/plugin/elf_library.hpp"

namespace vcap {

/// Looks for what a plugin needs of this host: every library, and every version of its symbols.
///
/// The libraries are loaded here, one moment before the plugin would have the dynamic linker do it:
/// that is the only search that is sure to be the linker's own (it depends on LD_LIBRARY_PATH, on
/// the search paths of the program and of vcap, on ld.so.cache, on what is loaded already), and
/// what it finds is what the plugin gets, since the linker takes a library that is loaded under the
/// needed name. No code runs that would not run anyway, but where the plugin is refused after all.
/// Found libraries stay loaded, as plugins do. Throws IncompatibleCapsuleError
/// (missing_dependency): `subject` with the library, the version and the remedy.
void load_host_libraries(const std::vector<ElfLibrary::Needed>& needed, const std::string& subject,
                         const std::string& entry);

}  // namespace vcap
