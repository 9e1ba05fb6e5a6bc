// SPDX-License-Identifier: Apache-2.0
#include "files/own_library.hpp"

#include <dlfcn.h>

#include <system_error>

#include "vcap/base/version.hpp"

namespace vcap {

std::filesystem::path own_folder() {
  // An exported function, so that this is the library's even in a program with objects of its own.
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&version), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? std::filesystem::path(info.dli_fname).parent_path() : real.parent_path();
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
