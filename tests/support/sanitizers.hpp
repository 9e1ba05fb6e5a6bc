// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

// VCAP_TEST_ADDRESS_SANITIZER and VCAP_TEST_THREAD_SANITIZER are 1 in a build with that sanitizer,
// else 0. g++ has macros for this, clang has __has_feature.
#if defined(__has_feature)
#define VCAP_TEST_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#define VCAP_TEST_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#ifdef __SANITIZE_ADDRESS__
#define VCAP_TEST_ADDRESS_SANITIZER 1
#else
#define VCAP_TEST_ADDRESS_SANITIZER 0
#endif
#ifdef __SANITIZE_THREAD__
#define VCAP_TEST_THREAD_SANITIZER 1
#else
#define VCAP_TEST_THREAD_SANITIZER 0
#endif
#endif

namespace vcap::test {

/// Under these sanitizers, code takes some ten times as long.
constexpr bool kUnderSanitizer = VCAP_TEST_ADDRESS_SANITIZER || VCAP_TEST_THREAD_SANITIZER;

/// The step of a sweep over all bits or lengths of a file: each seventh, which comes to each of the
/// eight bits of a byte; under these sanitizers each 13th. With VCAP_TEST_EVERY=1, as
/// tests/long.sh flips sets it, all of them.
inline std::size_t sweep_step() {
  if (kUnderSanitizer) return 13;
  const char* const every = std::getenv("VCAP_TEST_EVERY");
  return every && std::string_view(every) == "1" ? 1 : 7;
}

}  // namespace vcap::test
