// SPDX-License-Identifier: Apache-2.0
#include "media/av_decoder.hpp"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/hwcontext.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <utility>

#include <opencv2/core.hpp>

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

}  // namespace

AvDecoder::AvDecoder(std::unique_ptr<AvInput> input, Pace pace, HardwareDecoding hardware,
                     DecoderThreads& threads)
    : input_(std::move(input)),
      codec_(avcodec_alloc_context3(&input_->codec())),
      packet_(av_packet_alloc()),
      frame_(av_frame_alloc()),
      copy_(av_frame_alloc()) {
  if (!codec_ || !packet_ || !frame_ || !copy_) throw std::bad_alloc();
  codec_->thread_count = std::max(threads.count(), 1);
  codec_->thread_type = pace == Pace::live ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE;
  codec_->pkt_timebase = input_->stream().time_base;
  codec_->max_pixels = buffer_pixels(input_->address().max_pixels);
  if (hardware == HardwareDecoding::automatic) choose_hardware();
  if (avcodec_parameters_to_context(codec_.get(), input_->stream().codecpar) < 0 ||
      avcodec_open2(codec_.get(), &input_->codec(), nullptr) < 0)
    throw SourceError(ErrorCode::source_open,
                      input_->address().name + " cannot be decoded: its " +
                          avcodec_get_name(input_->stream().codecpar->codec_id) +
                          " stream is damaged, or FFmpeg does not support it");
  if (codec_->thread_count == 1) threads.give_back();
  if (codec_->width > 0) size_ = Size::known;
}

void AvDecoder::choose_hardware() {
  hardware_ = open_hardware(input_->codec());
  hardware_decodes_ = hardware_.device != nullptr;
  if (!hardware_decodes_) {
    log(LogLevel::info, input_->address().name + " is decoded in software, since no hardware for " +
                            input_->codec().name + " can be used (" + hardware_.why_not + ")");
    return;
  }
  // With only this set, libavcodec decodes what it can in hardware and the rest in software.
  codec_->hw_device_ctx = av_buffer_ref(hardware_.device.get());
  if (!codec_->hw_device_ctx) throw std::bad_alloc();
}

HardwareDecoding AvDecoder::hardware() const noexcept {
  return hardware_.device ? HardwareDecoding::automatic : HardwareDecoding::off;
}

SourceInfo AvDecoder::info() const {
  const AVCodecParameters& form = *input_->stream().codecpar;
  cv::Size size{form.width, form.height};
  if (quarter_turns() % 2 != 0) std::swap(size.width, size.height);
  return {.description = input_->address().name,
          .size = size,
          .frames_per_second = input_->frames_per_second(),
          .frames = input_->frames(),
          .codec = avcodec_get_name(form.codec_id),
          .decoder = input_->codec().name +
                     (hardware_decodes_ ? " (" + hardware_.name + ")" : std::string())};
}

bool AvDecoder::next() {
  input_->begin_picture();
  while (true) {
    const int got = avcodec_receive_frame(codec_.get(), frame_.get());
    if (got >= 0) {
      check_hardware_decodes();
      if (std::int64_t{frame_->width} * frame_->height > input_->address().max_pixels) {
        note_damage();
        size_ = Size::refused;
        continue;
      }
      follows_damage_ = damage_.came_out(frame_->pts);
      // The decoder's replacement for damaged parts depends on what was decoded before.
      if (frame_->decode_error_flags != 0 || (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0)
        met_damage_ = true;
      has_come_out_ = true;
      if (size_ != Size::failed) size_ = Size::known;
      return true;
    }
    if (got == AVERROR_EOF) {
      if (size_ == Size::refused || size_ == Size::failed) fail_at_size();
      if (!target_) damage_.end();  // otherwise, later packets may not have been read
      return false;
    }
    if (got == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (got == AVERROR(EAGAIN))
      feed();
    else
      note_failure();  // only this picture is damaged; the next one may follow
  }
}

bool AvDecoder::next_at(nanoseconds time, bool alone) {
  target_ = {.time = time, .alone = alone};
  bool found = false;
  while (!found && next()) {
    const std::optional<nanoseconds> at = this->time();
    found = !at || *at >= time;
  }
  target_.reset();
  return found;
}

/// A device may not support the stream's format, which only the first picture shows.
void AvDecoder::check_hardware_decodes() {
  if (!hardware_.device) return;
  const bool was = std::exchange(hardware_decodes_, frame_->hw_frames_ctx != nullptr);
  if (was && !hardware_decodes_)
    log(LogLevel::info, input_->address().name + " is decoded in software, since " +
                            hardware_.name + " does not support its format");
}

/// Sends the next packet, or signals the end of the stream.
void AvDecoder::feed() {
  bool more = std::exchange(has_packet_, false);
  const bool has_all = target_ && target_->alone && target_->has_gone_in && has_come_out_;
  while (!more && !has_all && input_->read(*packet_)) {
    if (input_->skipped_damage()) note_damage();
    // Some containers have empty packets, which a decoder would take as the end.
    more = packet_->size > 0 || packet_->side_data_elems > 0;
  }
  if (more) {
    damage_.went_in(packet_->pts);
    skip_if_unneeded();
  } else {
    end_feed();
  }
  const int sent = avcodec_send_packet(codec_.get(), more ? packet_.get() : nullptr);
  av_packet_unref(packet_.get());
  if (sent == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (sent < 0 && sent != AVERROR_EOF)
    note_failure();
  else if (more && size_ == Size::failed)
    size_ = Size::refused;  // pictures that come out now may follow
}

/// A picture could not be decoded. If libavcodec refuses a size, it takes it back, or leaves it as
/// it is. A damaged header may have such a size, too: then later pictures come out. Until it has
/// accepted another packet, those that come out are earlier ones, which it had held back.
void AvDecoder::note_failure() noexcept {
  note_damage();
  const std::int64_t pixels = std::int64_t{codec_->width} * codec_->height;
  if ((pixels == 0 && size_ != Size::unknown) || pixels > input_->address().max_pixels)
    size_ = Size::failed;
}

void AvDecoder::fail_at_size() const {
  throw SourceError(ErrorCode::source_read,
                    input_->address().name +
                        " goes on with pictures that have no valid size, or more than " +
                        std::to_string(input_->address().max_pixels) +
                        " pixels (SourceOptions::max_pixels); give a smaller video, or raise the "
                        "bound if you trust it");
}

void AvDecoder::note_damage() noexcept {
  damage_.note();
  met_damage_ = true;
}

/// Called before the last pictures are requested. libavcodec's H.264 decoder withholds some of them
/// as corrupt: the last of those that were sent after a seek and before the first one came out.
/// This makes it output them.
void AvDecoder::end_feed() {
  if (has_sought_ && has_come_out_) codec_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
}

/// On the way to a target picture, skips earlier pictures that no other picture refers to.
void AvDecoder::skip_if_unneeded() {
  codec_->skip_frame = AVDISCARD_DEFAULT;
  if (!target_) return;
  const std::optional<nanoseconds> time = input_->time_of(packet_->pts);
  if (!time) return;
  if (*time < target_->time) codec_->skip_frame = AVDISCARD_NONREF;
  target_->has_gone_in = target_->has_gone_in || *time == target_->time;
}

std::optional<nanoseconds> AvDecoder::time() const {
  return input_->time_of(frame_->best_effort_timestamp);
}

/// Clockwise, from the display matrix that a camera held upright writes.
int AvDecoder::quarter_turns() const {
  const std::uint8_t* data =
      av_stream_get_side_data(&input_->stream(), AV_PKT_DATA_DISPLAYMATRIX, nullptr);
  if (!data) return 0;
  const double degrees = av_display_rotation_get(reinterpret_cast<const std::int32_t*>(data));
  if (!std::isfinite(degrees)) return 0;
  return ((static_cast<int>(std::lround(-degrees / 90)) % 4) + 4) % 4;
}

/// The picture in main memory, with its properties such as colours.
const AVFrame& AvDecoder::in_memory() {
  if (!frame_->hw_frames_ctx) return *frame_;
  av_frame_unref(copy_.get());
  if (av_hwframe_transfer_data(copy_.get(), frame_.get(), 0) < 0 ||
      av_frame_copy_props(copy_.get(), frame_.get()) < 0)
    throw SourceError(ErrorCode::source_read, input_->address().name +
                                                  " has a picture that cannot be fetched from " +
                                                  hardware_.name + "; decode it without hardware");
  return *copy_;
}

cv::Mat AvDecoder::picture() {
  const AVFrame& decoded = in_memory();
  cv::Mat image = converter_.convert(decoded);
  if (image.empty()) {
    const char* form = av_get_pix_fmt_name(static_cast<AVPixelFormat>(decoded.format));
    throw SourceError(ErrorCode::source_read, input_->address().name + " has the pixel format " +
                                                  (form ? form : "unknown") +
                                                  ", which cannot be converted to 8-bit BGR");
  }
  const int turns = quarter_turns();
  if (turns == 0) return image;
  constexpr int kCodes[] = {cv::ROTATE_90_CLOCKWISE, cv::ROTATE_180,
                            cv::ROTATE_90_COUNTERCLOCKWISE};
  cv::Mat turned;
  cv::rotate(image, turned, kCodes[turns - 1]);
  return turned;
}

bool AvDecoder::seek(nanoseconds time) {
  // Containers find keyframes by decoding time, or only roughly. So the keyframe found may be shown
  // after the wanted time, and an earlier one is needed. Pictures shown after a keyframe need
  // nothing before it, but pictures shown before it may.
  for (nanoseconds back{0}; back < time;
       back = std::max<nanoseconds>(2 * back, std::chrono::seconds(1))) {
    if (!input_->seek(time - back)) return false;
    avcodec_flush_buffers(codec_.get());
    codec_->flags &= ~AV_CODEC_FLAG_OUTPUT_CORRUPT;
    damage_ = {};
    has_sought_ = true;
    has_come_out_ = met_damage_ = has_packet_ = false;
    if (!read_until_key()) continue;
    const std::optional<nanoseconds> key = input_->time_of(packet_->pts);
    if (!key) return false;
    has_packet_ = *key <= time;
    if (has_packet_) return true;
  }
  return false;
}

bool AvDecoder::read_until_key() {
  while (input_->read(*packet_))
    if ((packet_->flags & AV_PKT_FLAG_KEY) != 0) return true;
  return false;
}

}  // namespace vcap
