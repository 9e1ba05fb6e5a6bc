// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/abi.hpp"

#if defined(__linux__)
#define VCAP_OPERATING_SYSTEM "linux"
#elif defined(__APPLE__)
#define VCAP_OPERATING_SYSTEM "macos"
#else
#error "vcap: unknown operating system; add its name for capsules here"
#endif

#if defined(__x86_64__)
#define VCAP_PROCESSOR "x86_64"
#elif defined(__aarch64__)
#define VCAP_PROCESSOR "aarch64"
#elif defined(__riscv) && __riscv_xlen == 64
#define VCAP_PROCESSOR "riscv64"
#else
#error "vcap: unknown processor; add its name for capsules here"
#endif

namespace vcap {

std::string_view abi_tag() noexcept { return VCAP_ABI_TAG; }

std::string_view platform() noexcept { return VCAP_OPERATING_SYSTEM "-" VCAP_PROCESSOR; }

}  // namespace vcap
