// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

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

/// The step of a sweep over all bits or lengths of a file: all, but under these sanitizers each
/// 13th. They look for faults of memory, which a sample of the same paths shows as well.
constexpr std::size_t kSweepStep = kUnderSanitizer ? 13 : 1;

}  // namespace vcap::test
