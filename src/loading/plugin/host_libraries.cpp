// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/host_libraries.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "files/own_library.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Tables of a library that the linker has loaded. Its bytes belong to the host, and the linker has
/// already read them, so they are not checked.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(void* handle) {
    if (::dlinfo(handle, RTLD_DI_LINKMAP, &map_) != 0) map_ = nullptr;
  }

  /// Whether symbols with this version are available, by the linker's rules.
  bool has_version(std::string_view version) const {
    const auto first = pointer(DT_VERDEF);
    const auto strings = pointer(DT_STRTAB);
    // From a library without version definitions, the linker takes any symbol.
    if (!first || !strings) return true;
    for (auto at = *first;;) {
      const auto* const record = reinterpret_cast<const Elf64_Verdef*>(at);
      const auto* const name = reinterpret_cast<const Elf64_Verdaux*>(at + record->vd_aux);
      if (reinterpret_cast<const char*>(*strings + name->vda_name) == version) return true;
      if (record->vd_next == 0) return false;
      at += record->vd_next;
    }
  }

 private:
  std::optional<std::uintptr_t> pointer(std::int64_t tag) const {
    if (map_ == nullptr) return {};
    for (const ElfW(Dyn)* entry = map_->l_ld; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag != tag) continue;
      // On some processors, glibc has added the base to some kinds of entries. An address without
      // it is below the base, which is far above any library's size.
      const std::uintptr_t value = entry->d_un.d_ptr;
      return value < map_->l_addr ? map_->l_addr + value : value;
    }
    return {};
  }

  link_map* map_ = nullptr;
};

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

}  // namespace

void load_host_libraries(const std::vector<ElfLibrary::Needed>& needed, const std::string& subject,
                         const std::string& entry) {
  for (const ElfLibrary::Needed& one : needed) {
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
    const LoadedLibrary library(handle);
    for (const std::string& version : one.versions)
      if (!library.has_version(version))
        missing(subject, entry,
                "version " + quote(version) + " of the library " + quote(one.name) +
                    ", which this host's does not have; install a newer package of it, or build "
                    "the capsule on a system as old as the host's (`ldd -v` shows what is found)");
  }
}

}  // namespace vcap
