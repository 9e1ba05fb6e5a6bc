// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "records/message_spool.hpp"

namespace vcap {

// The bytes of a segment of a MessageSpool: a head, then messages. Numbers have the machine's order
// of bytes. All functions are thread-safe.
//
//   head:     "vcapmsg1", number of the first message (8 bytes), place (2 × 8), CRC-32 of these (4)
//   message:  size of what follows the checksum (4), its CRC-32 (4), number (8), place (2 × 8),
//   size
//             of the stream's id (4), the id, the body

inline constexpr std::size_t kSegmentHead = 36;
/// Of a message, without id and body.
inline constexpr std::size_t kMessageHead = 36;

std::string segment_head(std::uint64_t first, SpoolPlace place);
/// The place of a segment's head; `nullopt` if the bytes are no head, or another segment's.
std::optional<SpoolPlace> read_segment_head(std::string_view bytes, std::uint64_t first);

std::string message_bytes(std::uint64_t sequence, std::string_view stream_id, std::string_view body,
                          SpoolPlace place);

/// Reads the messages of a segment in order. Thread safety: thread-compatible.
class SegmentReader {
 public:
  /// Borrows the file, which is read from `offset` to `end`.
  SegmentReader(int file, std::int64_t offset, std::int64_t end);

  struct Found {
    SpooledMessage message;
    SpoolPlace place;
  };
  /// The next message; `nullopt` at the end, or if it is not whole. Throws std::system_error if the
  /// file cannot be read.
  std::optional<Found> next();
  /// After the last message.
  std::int64_t offset() const noexcept { return offset_; }

 private:
  /// Makes so many bytes available; false if the file has fewer.
  bool need(std::size_t size);

  const int file_;
  const std::int64_t end_;
  std::int64_t offset_;
  std::string block_;
  std::size_t used_ = 0;  ///< of the block
};

}  // namespace vcap
