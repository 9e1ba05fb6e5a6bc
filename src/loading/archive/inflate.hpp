// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vcap {

/// The result of unpacking one raw deflate stream (RFC 1951), as in zip archives.
struct Inflated {
  std::string fault{};         ///< why it is not a complete stream; empty if it is
  std::uint64_t consumed = 0;  ///< bytes of the input that belong to the stream
  std::uint64_t size = 0;      ///< bytes written
};

/// Unpacks the stream at the start of `packed`; output that exceeds `output` is a fault. Throws
/// std::bad_alloc. Thread-safe.
Inflated inflate(std::span<const std::byte> packed, std::span<std::byte> output);

}  // namespace vcap
