// SPDX-License-Identifier: Apache-2.0
#include "media/video_index.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "media/av_pointers.hpp"
#include "media/varint.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// In MPEG-4, a packet may only say that the picture repeats the one before; a decoder then gives
/// no picture. Such packets are shorter than this; real pictures hardly ever are.
constexpr int kLeastMpeg4Picture = 16;

/// The beginning of a saved index.
constexpr std::string_view kSavedIndex = "vcap.video-index/1\n";

/// Then different ticks are different nanoseconds.
bool is_fine_enough_in_nanoseconds(AVRational time_base) {
  return time_base.num > 0 && time_base.den > 0 &&
         std::int64_t{time_base.num} * 1'000'000'000 >= time_base.den;
}

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

/// False if any packet is doubtful.
bool add_packets(AvInput& input, VideoIndex::Builder& builder) {
  const AvPacketPointer packet(av_packet_alloc());
  if (!packet) throw std::bad_alloc();
  const AVRational time_base = input.stream().time_base;
  while (input.read(*packet)) {
    if (input.skipped_damage()) return false;
    // Empty packets do not reach the decoder; packets marked as discard are not shown.
    if (packet->size == 0 && packet->side_data_elems == 0) continue;
    if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) continue;
    if (!input.time_of(packet->pts) || !is_picture(*packet, input.stream().codecpar->codec_id) ||
        av_cmp_q(input.stream().time_base, time_base) != 0)
      return false;
    builder.add(input.from_start(packet->pts), (packet->flags & AV_PKT_FLAG_KEY) != 0);
  }
  return input.failure().empty() && !input.address().stop.stop_requested();
}

}  // namespace

std::shared_ptr<const VideoIndex> VideoIndex::of(AvInput& input) {
  if (!input.tells_times() || !input.can_go_back() ||
      !has_a_picture_in_each(*input.stream().codecpar))
    return nullptr;
  Builder builder(input.stream().time_base);
  return add_packets(input, builder) ? builder.finish() : nullptr;
}

std::string VideoIndex::save() const {
  if (!is_fine_enough_in_nanoseconds(time_base_)) return {};
  std::string saved(kSavedIndex);
  put_varint(saved, static_cast<std::uint64_t>(time_base_.num));
  put_varint(saved, static_cast<std::uint64_t>(time_base_.den));
  ticks_.save(saved);
  keys_.save(saved);
  return saved;
}

std::shared_ptr<const VideoIndex> VideoIndex::restore(std::string_view saved,
                                                      AVRational time_base) {
  if (!saved.starts_with(kSavedIndex) || !is_fine_enough_in_nanoseconds(time_base)) return nullptr;
  saved.remove_prefix(kSavedIndex.size());
  if (take_varint(saved) != static_cast<std::uint64_t>(time_base.num) ||
      take_varint(saved) != static_cast<std::uint64_t>(time_base.den))
    return nullptr;
  auto ticks = AscendingNumbers::load(saved);
  auto keys = AscendingNumbers::load(saved);
  if (!ticks || !keys || !saved.empty() || ticks->empty() || keys->empty() || keys->at(0) != 0 ||
      keys->back() >= ticks->size())
    return nullptr;
  // Times that do not fit are negative.
  if (to_nanoseconds(ticks->back(), time_base).count() < 0) return nullptr;
  auto index = std::make_shared<VideoIndex>();
  index->time_base_ = time_base;
  index->ticks_ = std::move(*ticks);
  index->keys_ = std::move(*keys);
  return index;
}

void VideoIndex::Builder::add(std::int64_t ticks, bool is_key) {
  const Picture picture{ticks, is_key};
  if (!first_) first_ = picture;
  if (!index_->ticks_.empty() && ticks <= index_->ticks_.back()) keep_all();
  waiting_.push_back(picture);
  if (keeps_all_) return;
  std::ranges::push_heap(waiting_, std::greater<>(), &Picture::ticks);
  if (waiting_.size() > kWaiting) append_next();
}

void VideoIndex::Builder::append_next() {
  std::ranges::pop_heap(waiting_, std::greater<>(), &Picture::ticks);
  append(waiting_.back());
  waiting_.pop_back();
}

void VideoIndex::Builder::append(const Picture& picture) {
  AscendingNumbers& times = index_->ticks_;
  // Ticks of less than a nanosecond may have the same time.
  if (!times.empty() && to_nanoseconds(times.back(), index_->time_base_) ==
                            to_nanoseconds(picture.ticks, index_->time_base_))
    has_twins_ = true;
  if (has_twins_) return;
  if (picture.is_key) index_->keys_.push_back(times.size());
  times.push_back(picture.ticks);
}

/// Goes back to the pictures, which are not in decoding order any more.
void VideoIndex::Builder::keep_all() {
  keeps_all_ = true;
  const AscendingNumbers times = std::exchange(index_->ticks_, {});
  const AscendingNumbers keys = std::exchange(index_->keys_, {});
  std::int64_t next_key = 0;
  for (std::int64_t i = 0; i < times.size(); ++i) {
    const bool is_key = next_key < keys.size() && keys.at(next_key) == i;
    waiting_.push_back({times.at(i), is_key});
    if (is_key) ++next_key;
  }
}

std::shared_ptr<const VideoIndex> VideoIndex::Builder::finish() {
  std::ranges::sort(waiting_, {}, &Picture::ticks);
  for (const Picture& picture : waiting_) append(picture);
  waiting_ = {};
  if (!first_ || has_twins_) return nullptr;
  // Pictures shown before the first keyframe depend on missing ones.
  if (!first_->is_key || index_->ticks_.at(0) != first_->ticks || index_->time(0).count() < 0)
    return nullptr;
  index_->ticks_.shrink_to_fit();
  index_->keys_.shrink_to_fit();
  return std::move(index_);
}

}  // namespace vcap
