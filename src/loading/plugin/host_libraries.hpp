// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "loading/plugin/elf_library.hpp"

namespace vcap {

/// Checks that this host has what a plugin needs: every library, every version of its symbols, and
/// thread-local variables and initialisers whose names are nothing else here.
///
/// The libraries are loaded here, just before the dynamic linker would load them for the plugin.
/// Only this search is certain to equal the linker's, which depends on LD_LIBRARY_PATH, the search
/// paths of the program and of vcap, ld.so.cache and loaded libraries. The plugin gets the
/// libraries found here, since the linker reuses a library that is loaded under the needed name.
/// This runs no additional code, unless the plugin is refused afterwards. Found libraries stay
/// loaded, like plugins. Throws IncompatibleCapsuleError (missing_dependency): `subject` with the
/// library, the version and the remedy.
void load_host_libraries(const ElfLibrary& plugin, const std::string& subject,
                         const std::string& entry);

}  // namespace vcap
