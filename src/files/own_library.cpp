// SPDX-License-Identifier: Apache-2.0
#include "files/own_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

#include "vcap/base/version.hpp"

namespace vcap {

std::filesystem::path own_folder() {
  // libvcap_core is found by its name and not by an address in it: a program may have some of its
  // objects, too.
  std::filesystem::path file;
  void* const core = ::dlopen(own_library("core").c_str(), RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (core != nullptr && ::dlinfo(core, RTLD_DI_LINKMAP, &map) == 0) file = map->l_name;
  if (core != nullptr) ::dlclose(core);
  Dl_info info{};  // for a program that has vcap linked into it
  if (file.empty() && ::dladdr(reinterpret_cast<const void*>(&own_folder), &info) != 0 &&
      info.dli_fname != nullptr)
    file = info.dli_fname;
  if (file.empty()) return {};
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(file, failed);
  return failed ? file.parent_path() : real.parent_path();
}

std::string own_library(std::string_view name) {
  return "libvcap_" + std::string(name) + ".so." + std::to_string(VCAP_VERSION_MAJOR) + "." +
         std::to_string(VCAP_VERSION_MINOR);
}

OwnFunction find_own_function(std::string_view library, const char* function) {
  const std::string path = (own_folder() / own_library(library)).string();
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const address = handle == nullptr ? nullptr : ::dlsym(handle, function);
  if (address != nullptr) return {.address = address};
  const char* const why = ::dlerror();
  return {.failure = "the library " + path +
                     " cannot be loaded: " + (why != nullptr ? why : "unknown reason") +
                     "; install vcap again, and the packages that it needs"};
}

}  // namespace vcap
