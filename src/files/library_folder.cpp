// SPDX-License-Identifier: Apache-2.0
#include "files/library_folder.hpp"

#include <dlfcn.h>

#include <system_error>

namespace vcap {

std::filesystem::path folder_of_library(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? std::filesystem::path(info.dli_fname).parent_path() : real.parent_path();
}

}  // namespace vcap
