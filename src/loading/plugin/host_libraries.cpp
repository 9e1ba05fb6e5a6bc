// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/host_libraries.hpp"

#include <dlfcn.h>

#include <optional>
#include <set>
#include <string>

#include "base/text.hpp"
#include "files/own_library.hpp"
#include "loading/plugin/loaded_library.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

[[noreturn]] void missing(const std::string& subject, const std::string& entry,
                          const std::string& what) {
  throw IncompatibleCapsuleError(ErrorCode::missing_dependency, subject + " needs " + what, entry);
}

/// Loads a library of vcap's own that is not loaded yet, such as libvcap_backends. It is in the
/// same folder as this one, which the linker does not search for a plugin's libraries. Null if
/// there is no such library.
void* load_own_library(const std::string& name) {
  if (!name.starts_with("libvcap_")) return nullptr;
  return ::dlopen((own_folder() / name).c_str(), RTLD_LAZY | RTLD_LOCAL);
}

/// Loads one library, and checks that it has the versions that are needed.
void load_needed(const ElfLibrary::Needed& one, const std::string& subject,
                 const std::string& entry) {
  void* handle = load_own_library(one.name);
  if (handle == nullptr) handle = ::dlopen(one.name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    missing(subject, entry,
            "the library " + quote(one.name) +
                ", which cannot be loaded: " + (reason != nullptr ? reason : "unknown reason") +
                "; install the package that has it, or add its folder to LD_LIBRARY_PATH "
                "(`ldd -v` shows what is found)");
  }
  const LoadedLibrary library = LoadedLibrary::of(handle);
  constexpr const char* kRemedy =
      "; install a newer package of it, or build the capsule on a system as old as the host's "
      "(`ldd -v` shows what is found)";
  if (one.has_versions && !library.has_symbol_versions())
    missing(subject, entry,
            "versions of symbols of the library " + quote(one.name) +
                ", but those of this host's have none" + kRemedy);
  for (const std::string& version : one.versions)
    if (!library.has_version(version))
      missing(subject, entry,
              "version " + quote(version) + " of the library " + quote(one.name) +
                  ", which this host's does not have" + kRemedy);
}

/// Checks that no library of this process has these names for something of another kind.
void check_kinds(const std::set<std::string>& names, IsKind is_kind, const char* kind,
                 const std::string& subject, const std::string& entry) {
  for (const std::string& name : names)
    if (const auto library = library_with_other_kind(name, is_kind))
      missing(subject, entry,
              std::string(kind) + " " + quote(name) + ", but in " + quote(*library) +
                  " that name is something else; build the capsule with this host's libraries, or "
                  "give it another name");
}

}  // namespace

void load_host_libraries(const ElfLibrary& plugin, const std::string& subject,
                         const std::string& entry) {
  for (const ElfLibrary::Needed& one : plugin.needed) load_needed(one, subject, entry);
  // The linker ends the process if it takes another symbol for a thread-local variable, or calls
  // it.
  check_kinds(plugin.thread_variables, &is_thread_variable_type, "the thread-local variable",
              subject, entry);
  check_kinds(plugin.called_functions, &is_function_type, "the initialiser or finaliser", subject,
              entry);
}

}  // namespace vcap
