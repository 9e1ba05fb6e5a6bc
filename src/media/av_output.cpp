// SPDX-License-Identifier: Apache-2.0
#include "media/av_output.hpp"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <cstdio>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "media/av_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The unit of times in MP4: exact for milliseconds and for most frame rates.
constexpr AVRational kTimeBase{1, 90'000};
/// What a killed process loses at most. Each fragment costs some hundred bytes.
constexpr const char* kFragmentMicroseconds = "1000000";
constexpr const char* kClusterMilliseconds = "1000";
/// Within a fragment, MP4 cannot express a picture that is shown for more than some hours.
constexpr std::int64_t kLongestPicture = 3600 * std::int64_t{kTimeBase.den};
constexpr int kBufferSize = 1 << 16;

bool is_mp4(const ClipFormat& format) { return std::string_view(format.container) == "mp4"; }

}  // namespace

bool AvOutput::wants_global_header(const ClipFormat& format) {
  const AVOutputFormat* container = av_guess_format(format.container, nullptr, nullptr);
  return container && (container->flags & AVFMT_GLOBALHEADER) != 0;
}

AvOutput::AvOutput(OutputFile& file, ClipFormat format, const AVCodecContext& codec,
                   double frames_per_second)
    : file_(file), format_(std::move(format)), fragmented_(is_mp4(format_)) {
  make_io();
  open(codec, frames_per_second);
}

AvOutput::AvOutput(OutputFile& file, ClipFormat format, const AVStream& copied)
    : file_(file), format_(std::move(format)), fragmented_(false) {
  make_io();
  open_copy(copied);
}

void AvOutput::make_io() {
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferSize));
  if (!buffer) throw std::bad_alloc();
  io_.reset(avio_alloc_context(buffer, kBufferSize, 1, this, nullptr, keep, seek));
  if (io_) return;
  av_free(buffer);
  throw std::bad_alloc();
}

void AvOutput::make_stream() {
  AVFormatContext* context = nullptr;
  check(avformat_alloc_output_context2(&context, nullptr, format_.container, nullptr));
  context_.reset(context);
  context->pb = io_.get();
  context->flags |= AVFMT_FLAG_CUSTOM_IO;
  stream_ = avformat_new_stream(context, nullptr);
  if (!stream_) throw std::bad_alloc();
}

void AvOutput::open_copy(const AVStream& copied) {
  make_stream();
  stream_->time_base = copied.time_base;
  stream_->avg_frame_rate = copied.avg_frame_rate;
  stream_->sample_aspect_ratio = copied.sample_aspect_ratio;
  check(avcodec_parameters_copy(stream_->codecpar, copied.codecpar));
  stream_->codecpar->codec_tag = 0;  // each container has its own
#if LIBAVFORMAT_VERSION_MAJOR < 61   // later, the parameters have it
  std::size_t size = 0;
  const std::uint8_t* const rotation =
      av_stream_get_side_data(&copied, AV_PKT_DATA_DISPLAYMATRIX, &size);
  if (rotation != nullptr) {
    std::uint8_t* const own = av_stream_new_side_data(stream_, AV_PKT_DATA_DISPLAYMATRIX, size);
    if (own == nullptr) throw std::bad_alloc();
    std::copy_n(rotation, size, own);
  }
#endif
  check(avformat_write_header(context_.get(), nullptr));
  avio_flush(io_.get());
}

void AvOutput::open(const AVCodecContext& codec, double frames_per_second) {
  make_stream();
  stream_->time_base = format_.fixed_rate ? codec.time_base : kTimeBase;
  if (frames_per_second > 0) stream_->avg_frame_rate = codec.framerate;
  check(avcodec_parameters_from_context(stream_->codecpar, &codec));
  AVDictionary* options = nullptr;
  if (fragmented_) {
    // Else the index of all pictures, without which none can be shown, comes at the end.
    av_dict_set(&options, "movflags", "frag_keyframe+empty_moov+default_base_moof", 0);
    av_dict_set(&options, "frag_duration", kFragmentMicroseconds, 0);
  } else if (!format_.fixed_rate) {
    av_dict_set(&options, "cluster_time_limit", kClusterMilliseconds, 0);
  }
  const int opened = avformat_write_header(context_.get(), &options);
  av_dict_free(&options);
  check(opened);
  avio_flush(io_.get());
}

void AvOutput::check(int result) const {
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (result < 0)
    throw OutputError(ErrorCode::output_write,
                      format_.output + " cannot be written further: " + "libavformat's muxer " +
                          format_.container + " failed with " + av_error_text(result));
}

template <class Byte>
int AvOutput::keep(void* self, Byte* bytes, int size) noexcept {
  auto& output = *static_cast<AvOutput*>(self);
  try {
    const auto added = std::as_bytes(std::span(bytes, static_cast<std::size_t>(size)));
    std::deque<Piece>& pieces = output.pieces_;
    if (pieces.empty() ||
        pieces.back().place + static_cast<std::int64_t>(pieces.back().bytes.size()) !=
            output.place_)
      pieces.push_back({.place = output.place_, .bytes = {}});
    pieces.back().bytes.insert(pieces.back().bytes.end(), added.begin(), added.end());
  } catch (...) {
    return AVERROR(ENOMEM);
  }
  output.place_ += size;
  output.size_ = std::max(output.size_, output.place_);
  return size;
}

std::int64_t AvOutput::seek(void* self, std::int64_t offset, int whence) noexcept {
  auto& output = *static_cast<AvOutput*>(self);
  if (whence == AVSEEK_SIZE) return output.size_;
  if (whence == SEEK_CUR) offset += output.place_;
  if (whence == SEEK_END) offset += output.size_;
  if (offset < 0) return AVERROR(EINVAL);
  return output.place_ = offset;
}

/// Each fragment begins at the time of its first packet, even after a gap. The muxer forgets this
/// with each packet, and a packet after a long gap must find it set by the one before.
void AvOutput::prepare_fragment(std::int64_t time) {
  if (last_ != AV_NOPTS_VALUE && time - last_ > kLongestPicture)
    check(av_write_frame(context_.get(), nullptr));  // ends the fragment
  check(av_opt_set(context_->priv_data, "movflags", "+frag_discont", 0));
}

void AvOutput::put(AVPacket& packet) {
  packet.stream_index = stream_->index;
  if (fragmented_) prepare_fragment(packet.pts);
  last_ = packet.pts;
  check(av_write_frame(context_.get(), &packet));
  avio_flush(io_.get());
  check(io_->error);
}

bool AvOutput::end_fragment() {
  if (last_ == AV_NOPTS_VALUE) return false;
  if (fragmented_) check(av_write_frame(context_.get(), nullptr));
  avio_flush(io_.get());
  check(io_->error);
  return true;
}

void AvOutput::end() {
  check(av_write_trailer(context_.get()));
  avio_flush(io_.get());
  check(io_->error);
}

void AvOutput::flush() {
  for (; !pieces_.empty(); pieces_.pop_front()) {
    const Piece& piece = pieces_.front();
    file_.seek(piece.place);
    file_.write(piece.bytes);
  }
}

}  // namespace vcap
