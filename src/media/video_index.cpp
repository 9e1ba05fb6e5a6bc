// SPDX-License-Identifier: Apache-2.0
#include "media/video_index.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "media/av_pointers.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// In MPEG-4, a packet may only say that the picture repeats the one before; a decoder then gives
/// no picture. Such packets are shorter than this; real pictures hardly ever are.
constexpr int kLeastMpeg4Picture = 16;

struct IndexedPacket {
  nanoseconds time;
  bool is_key;
};

/// Whether each packet of this format is one picture. In other formats a packet may hold a picture
/// that is never shown (VP8), or it is unknown whether one does.
bool has_a_picture_in_each(const AVCodecParameters& form) {
  // In interlaced video, each field may have its own packet.
  if (form.field_order != AV_FIELD_UNKNOWN && form.field_order != AV_FIELD_PROGRESSIVE)
    return false;
  switch (form.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
    case AV_CODEC_ID_MPEG4:
    case AV_CODEC_ID_MSMPEG4V1:
    case AV_CODEC_ID_MSMPEG4V2:
    case AV_CODEC_ID_MSMPEG4V3:
    case AV_CODEC_ID_FFV1:
      return true;
    default: {
      const AVCodecDescriptor* codec = avcodec_descriptor_get(form.codec_id);
      return codec && (codec->props & AV_CODEC_PROP_INTRA_ONLY) != 0;
    }
  }
}

bool is_picture(const AVPacket& packet, AVCodecID codec) {
  return (packet.flags & AV_PKT_FLAG_CORRUPT) == 0 && packet.size > 0 &&
         (codec != AV_CODEC_ID_MPEG4 || packet.size >= kLeastMpeg4Picture);
}

/// In decoding order; `nullopt` if any packet is doubtful.
std::optional<std::vector<IndexedPacket>> packets_of(AvInput& input) {
  const AvPacketPointer packet(av_packet_alloc());
  if (!packet) throw std::bad_alloc();
  std::vector<IndexedPacket> packets;
  while (input.read(*packet)) {
    if (input.skipped_damage()) return std::nullopt;
    // Empty packets do not reach the decoder; packets marked as discard are not shown.
    if (packet->size == 0 && packet->side_data_elems == 0) continue;
    if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) continue;
    const std::optional<nanoseconds> time = input.time_of(packet->pts);
    if (!time || !is_picture(*packet, input.stream().codecpar->codec_id)) return std::nullopt;
    packets.push_back({*time, (packet->flags & AV_PKT_FLAG_KEY) != 0});
  }
  if (!input.failure().empty() || input.address().stop.stop_requested()) return std::nullopt;
  return packets;
}

}  // namespace

std::shared_ptr<const VideoIndex> VideoIndex::of(AvInput& input) {
  if (!input.tells_times() || !input.can_go_back() ||
      !has_a_picture_in_each(*input.stream().codecpar))
    return nullptr;
  auto packets = packets_of(input);
  if (!packets || packets->empty()) return nullptr;
  // Pictures shown before the first keyframe depend on missing ones.
  const IndexedPacket first = packets->front();
  std::ranges::sort(*packets, {}, &IndexedPacket::time);
  const bool is_first = packets->front().time == first.time && first.is_key;
  if (!is_first || first.time.count() < 0 ||
      std::ranges::adjacent_find(*packets, {}, &IndexedPacket::time) != packets->end())
    return nullptr;
  auto index = std::make_shared<VideoIndex>();
  index->times_.reserve(packets->size());
  for (const IndexedPacket& packet : *packets) {
    if (packet.is_key) index->keys_.push_back(index->size());
    index->times_.push_back(packet.time);
  }
  return index;
}

std::int64_t VideoIndex::key_before(std::int64_t number) const {
  return *(std::ranges::upper_bound(keys_, number) - 1);
}

}  // namespace vcap
