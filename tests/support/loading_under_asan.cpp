// SPDX-License-Identifier: Apache-2.0
// For programs that load OpenVINO under the address sanitizer.
#include <dlfcn.h>

extern "C" void* __interceptor_dlopen(const char* file, int mode);  // the sanitizer's

// oneTBB loads parts of itself with RTLD_DEEPBIND. The sanitizer ends the process then, because its
// own malloc would not be found.
extern "C" __attribute__((visibility("default"))) void* dlopen(const char* file,
                                                               int mode) noexcept {
  return __interceptor_dlopen(file, mode & ~RTLD_DEEPBIND);
}

// OpenVINO unloads its readers of models. What their global objects hold would be a leak whose
// origin nobody can name, so they stay.
extern "C" __attribute__((visibility("default"))) int dlclose(void*) noexcept { return 0; }
