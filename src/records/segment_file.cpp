// SPDX-License-Identifier: Apache-2.0
#include "records/segment_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>
#include <type_traits>

#include "files/digest.hpp"

namespace vcap {
namespace {

constexpr std::string_view kSegmentMark = "vcapmsg1";
constexpr std::size_t kReadBlock = std::size_t{64} << 10;
/// The part of a message's head that its checksum does not cover.
constexpr std::size_t kUncovered = 8;
/// Room for what the pump adds to a message, so that its memory need not grow then.
constexpr std::size_t kAddedBytes = 128;

void put(std::string& bytes, auto number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Number>
Number take(std::string_view& bytes) {
  static_assert(std::is_unsigned_v<Number>);
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

std::uint32_t checksum(std::string_view bytes) {
  return crc32(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

SpoolPlace take_place(std::string_view& bytes) {
  const auto file = take<std::uint64_t>(bytes);
  return {.file = file, .position = take<std::uint64_t>(bytes)};
}

}  // namespace

std::string segment_head(std::uint64_t first, SpoolPlace place) {
  std::string head(kSegmentMark);
  put(head, first);
  put(head, place.file);
  put(head, place.position);
  put(head, checksum(head));
  return head;
}

std::optional<SpoolPlace> read_segment_head(std::string_view bytes, std::uint64_t first) {
  if (bytes.size() < kSegmentHead || !bytes.starts_with(kSegmentMark)) return std::nullopt;
  const std::string_view covered = bytes.substr(0, kSegmentHead - sizeof(std::uint32_t));
  bytes.remove_prefix(kSegmentMark.size());
  const bool is_same = take<std::uint64_t>(bytes) == first;
  const SpoolPlace place = take_place(bytes);
  if (!is_same || take<std::uint32_t>(bytes) != checksum(covered)) return std::nullopt;
  return place;
}

std::string message_bytes(std::uint64_t sequence, std::string_view stream_id, std::string_view body,
                          SpoolPlace place) {
  std::string bytes;
  bytes.reserve(kMessageHead + stream_id.size() + body.size());
  put(bytes,
      static_cast<std::uint32_t>(kMessageHead - kUncovered + stream_id.size() + body.size()));
  put(bytes, std::uint32_t{0});  // the checksum
  put(bytes, sequence);
  put(bytes, place.file);
  put(bytes, place.position);
  put(bytes, static_cast<std::uint32_t>(stream_id.size()));
  bytes.append(stream_id).append(body);
  const std::uint32_t sum = checksum(std::string_view(bytes).substr(kUncovered));
  std::memcpy(bytes.data() + sizeof(std::uint32_t), &sum, sizeof sum);
  return bytes;
}

SegmentReader::SegmentReader(int file, std::int64_t offset, std::int64_t end)
    : file_(file), end_(end), offset_(offset) {}

std::optional<SegmentReader::Found> SegmentReader::next() {
  if (!need(kMessageHead)) return std::nullopt;
  std::string_view head = std::string_view(block_).substr(used_);
  const auto size = take<std::uint32_t>(head);
  const auto sum = take<std::uint32_t>(head);
  if (size < kMessageHead - kUncovered || !need(kUncovered + std::size_t{size}))
    return std::nullopt;
  std::string_view rest = std::string_view(block_).substr(used_ + kUncovered, size);
  if (checksum(rest) != sum) return std::nullopt;
  Found found;
  found.message.sequence = take<std::uint64_t>(rest);
  found.place = take_place(rest);
  const auto id_size = take<std::uint32_t>(rest);
  if (id_size > rest.size()) return std::nullopt;
  found.message.stream_id = rest.substr(0, id_size);
  const std::string_view body = rest.substr(id_size);
  found.message.body.reserve(body.size() + kAddedBytes);
  found.message.body = body;
  used_ += kUncovered + size;
  offset_ += static_cast<std::int64_t>(kUncovered + size);
  return found;
}

bool SegmentReader::need(std::size_t size) {
  if (block_.size() - used_ >= size) return true;
  if (end_ - offset_ < static_cast<std::int64_t>(size)) return false;
  block_.erase(0, used_);
  used_ = 0;
  const auto left = static_cast<std::size_t>(end_ - offset_);
  std::size_t filled = block_.size();
  block_.resize(std::min(left, std::max(size, kReadBlock)));
  while (filled < block_.size()) {
    const ssize_t count = ::pread(file_, block_.data() + filled, block_.size() - filled,
                                  offset_ + static_cast<std::int64_t>(filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::system_error(errno, std::generic_category());
    if (count == 0) break;  // it was cut
    filled += static_cast<std::size_t>(count);
  }
  block_.resize(filled);
  return filled >= size;
}

}  // namespace vcap
