// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vcap {

/// Unpacks one raw deflate stream (RFC 1951), as zip archives hold them, and tells exactly how far
/// it went on both sides. Thread safety: thread-compatible.
class Inflater {
 public:
  Inflater();  ///< throws std::bad_alloc
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater();

  /// Unpacks until the stream or `output` ends, or something is wrong; once. Gives how many bytes
  /// it has written.
  std::uint64_t inflate(std::span<const std::byte> packed, std::span<std::byte> output);

  /// Whether the stream came to its end.
  bool at_end() const noexcept { return result_ == Z_STREAM_END; }
  /// Whether `output` was too small for the stream.
  bool has_more_output() const noexcept { return has_more_output_; }
  /// How many bytes of the input belong to the stream.
  std::uint64_t consumed() const noexcept { return consumed_; }
  /// What is wrong, where it came to no end.
  std::string message() const;

 private:
  z_stream stream_{};
  int result_ = Z_OK;
  bool has_more_output_ = false;
  std::uint64_t consumed_ = 0;
};

}  // namespace vcap
