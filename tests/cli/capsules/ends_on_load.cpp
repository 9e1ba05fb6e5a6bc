// SPDX-License-Identifier: Apache-2.0
// Ends the process as soon as its library is loaded. So a command that continues has not run any
// code of the capsule.
#include <cstdlib>

namespace {
struct EndsTheProcess {
  EndsTheProcess() { std::_Exit(99); }
} on_load;
}  // namespace

// Without this function, the library would not be loaded.
extern "C" __attribute__((visibility("default"))) const void* vcap_capsule_plugin() {
  return nullptr;
}
