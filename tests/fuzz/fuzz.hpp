// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vcap/base/error.hpp"

/// Defines what a fuzzing program does with `bytes`. It may throw vcap's own errors. Any other
/// exception or failure ends the program.
#define FUZZ(bytes)                                                                   \
  static void fuzz(std::span<const std::byte> bytes);                                 \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    try {                                                                             \
      fuzz(std::as_bytes(std::span(data, size)));                                     \
    } catch (const vcap::Error&) {                                                    \
    }                                                                                 \
    return 0;                                                                         \
  }                                                                                   \
  static void fuzz(std::span<const std::byte> bytes)
