// SPDX-License-Identifier: Apache-2.0
#include "loading/inflater.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

namespace vcap {
namespace {

/// What one call of zlib is given at most: it counts in unsigned int.
uInt portion(std::uint64_t size) {
  return static_cast<uInt>(std::min<std::uint64_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

Inflater::Inflater() {
  if (::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() { ::inflateEnd(&stream_); }

std::uint64_t Inflater::inflate(std::span<const std::byte> packed, std::span<std::byte> output) {
  std::uint64_t written = 0;
  // One byte that is nobody's, so that a stream of exactly the size comes to its end, and a longer
  // one is seen to be longer.
  std::array<std::byte, 1> beyond{};
  while (result_ == Z_OK) {
    const uInt input_size = portion(packed.size() - consumed_);
    const bool is_full = written == output.size();
    const std::span<std::byte> room =
        is_full ? std::span<std::byte>(beyond) : output.subspan(written);
    const uInt room_size = portion(room.size());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + consumed_));
    stream_.avail_in = input_size;
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = room_size;
    result_ = ::inflate(&stream_, Z_NO_FLUSH);
    consumed_ += input_size - stream_.avail_in;
    const uInt made = room_size - stream_.avail_out;
    if (is_full && made > 0) {
      has_more_output_ = true;
      return written;
    }
    written += made;
  }
  return written;
}

std::string Inflater::message() const {
  if (result_ == Z_BUF_ERROR) return "its data ends too early";
  return stream_.msg != nullptr ? stream_.msg : "its data is no deflate stream";
}

}  // namespace vcap
