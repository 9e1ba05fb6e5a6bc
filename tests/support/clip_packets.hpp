// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace vcap::test {

/// The bytes and the time of the picture at one place in the order of decoding.
struct Packet {
  std::int64_t position;
  int size;
  std::chrono::nanoseconds pts;
};

inline Packet packet_of(const std::filesystem::path& path, int place) {
  AVFormatContext* clip = nullptr;
  if (avformat_open_input(&clip, path.c_str(), nullptr, nullptr) < 0)
    throw std::runtime_error("no clip");
  AVPacket* packet = av_packet_alloc();
  for (int i = 0; i <= place; ++i) {
    av_packet_unref(packet);
    if (av_read_frame(clip, packet) < 0) throw std::runtime_error("no such packet");
  }
  const AVStream& stream = *clip->streams[0];
  const std::int64_t start = stream.start_time == AV_NOPTS_VALUE ? 0 : stream.start_time;
  const Packet found{packet->pos, packet->size,
                     std::chrono::nanoseconds(av_rescale_q(packet->pts - start, stream.time_base,
                                                           AVRational{1, 1'000'000'000}))};
  av_packet_free(&packet);
  avformat_close_input(&clip);
  return found;
}

/// Overwrites the packet, so that it cannot be decoded.
inline void destroy(const std::filesystem::path& path, const Packet& packet) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(packet.position);
  file << std::string(static_cast<std::size_t>(packet.size), '\xff');
}

/// Sets the number of frames in both headers of an AVI.
inline void announce(const std::filesystem::path& path, std::uint32_t frames) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto put = [&](const char* name, std::size_t offset) {
    const std::size_t at = bytes.find(name);
    if (at == std::string::npos) throw std::runtime_error(std::string("no ") + name);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at + 8 + offset));  // after the name and the length
    for (int byte = 0; byte < 4; ++byte) file.put(static_cast<char>(frames >> (8 * byte)));
  };
  put("avih", 16);
  put("strh", 32);
}

}  // namespace vcap::test
