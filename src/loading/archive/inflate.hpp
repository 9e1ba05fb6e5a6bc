// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// What became of one raw deflate stream (RFC 1951), as zip archives hold them.
struct Inflated {
  std::string fault{};  ///< what keeps it from being a whole stream; empty where nothing does
  std::uint64_t consumed = 0;  ///< bytes of the input that belong to the stream
  std::uint64_t size = 0;      ///< bytes written
};

/// Unpacks the stream that `packed` begins with; one that is longer than `output` is a fault.
/// Throws std::bad_alloc. Thread-safe.
VCAP_EXPORT Inflated inflate(std::span<const std::byte> packed, std::span<std::byte> output);

}  // namespace vcap
