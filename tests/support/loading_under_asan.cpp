// SPDX-License-Identifier: Apache-2.0
// For programs that load OpenVINO under the address sanitizer.
#include <dlfcn.h>

extern "C" void* __interceptor_dlopen(const char* file, int mode);  // of the sanitizer

// oneTBB loads parts of itself with RTLD_DEEPBIND. With that flag, the sanitizer's own malloc would
// not be found, so the sanitizer ends the process.
extern "C" __attribute__((visibility("default"))) void* dlopen(const char* file,
                                                               int mode) noexcept {
  return __interceptor_dlopen(file, mode & ~RTLD_DEEPBIND);
}

// OpenVINO unloads its readers of models. The memory of their global objects would then be reported
// as a leak without an origin. So libraries stay loaded.
extern "C" __attribute__((visibility("default"))) int dlclose(void*) noexcept { return 0; }
