// SPDX-License-Identifier: Apache-2.0
#include "media/av_input.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "base/text.hpp"
#include "media/av_error.hpp"
#include "media/av_log.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr AVRational kNanoseconds{1, 1'000'000'000};
/// Times beyond this are damage and are ignored.
constexpr nanoseconds kLongest = std::chrono::years(10);
/// libav's default for most formats.
constexpr std::chrono::seconds kLongestAnalysis{5};
/// A reader that joins a live stream waits for a keyframe: seconds with most cameras, longer with
/// some.
constexpr int kMostLimitsOfAPicture = 4;
/// After this many unreadable parts in a row, the rest counts as damaged too.
constexpr int kMostDamagedInRow = 4096;

std::string seconds_text(std::chrono::milliseconds time) {
  return number_text(std::chrono::duration<double>(time).count()) + " s";
}

nanoseconds to_nanoseconds(std::int64_t ticks, AVRational time_base) {
  return nanoseconds(av_rescale_q(ticks, time_base, kNanoseconds));
}

}  // namespace

AvInput::AvInput(AvAddress address) : address_(std::move(address)) {
  take_av_log();
  open();
  choose_stream();
}

int AvInput::must_stop(void* self) noexcept {
  auto& input = *static_cast<AvInput*>(self);
  if (input.address_.stop.stop_requested()) return 1;
  if (input.address_.silence_limit.count() == 0 ||
      steady_clock::now() < std::min(input.deadline_, input.picture_deadline_))
    return 0;
  input.silent_ = true;
  return 1;
}

void AvInput::begin_wait(int limits) noexcept {
  silent_ = false;
  deadline_ = steady_clock::now() + limits * address_.silence_limit;
}

void AvInput::begin_picture() noexcept {
  picture_deadline_ = steady_clock::now() + kMostLimitsOfAPicture * address_.silence_limit;
}

std::string AvInput::reason(int error) const {
  if (silent_ && picture_deadline_ < deadline_)
    return "it gave no picture for " + seconds_text(kMostLimitsOfAPicture * address_.silence_limit);
  if (silent_) return "it was silent for " + seconds_text(address_.silence_limit);
  return av_error_text(error);
}

void AvInput::fail_open(const std::string& why) const {
  std::string text = address_.cannot_open;
  text.replace(text.find("{}"), 2, why);
  throw SourceError(ErrorCode::source_open, address_.name + " " + text);
}

void AvInput::open() {
  AVFormatContext* context = avformat_alloc_context();
  if (!context) throw std::bad_alloc();
  context->interrupt_callback = {.callback = must_stop, .opaque = this};
  // Detecting the streams' formats must not take longer than the limit.
  if (address_.silence_limit.count() > 0 && address_.silence_limit < kLongestAnalysis)
    context->max_analyze_duration = std::chrono::microseconds(address_.silence_limit).count();
  AVDictionary* options = nullptr;
  // Packets lost over UDP would give wrong pictures.
  av_dict_set(&options, "rtsp_transport", "tcp", 0);
  // A name with a '%' is a single file, not a pattern.
  av_dict_set(&options, "pattern_type", "none", 0);
  begin_wait();
  const int opened = avformat_open_input(&context, address_.url.c_str(), nullptr, &options);
  av_dict_free(&options);
  if (opened < 0) fail_open(reason(opened));  // the call has freed the context
  context_.reset(context);
  begin_wait(2);
  if (const int found = avformat_find_stream_info(context, nullptr); found < 0 || silent_)
    fail_open(reason(found));
}

void AvInput::choose_stream() {
  for (unsigned i = 0; i < context_->nb_streams; ++i) {
    AVStream* stream = context_->streams[i];
    const bool is_cover = (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
    const bool is_video = stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !is_cover;
    if (is_video && !stream_)
      stream_ = stream;
    else
      stream->discard = AVDISCARD_ALL;
  }
  if (!stream_)
    fail_open(context_->nb_streams > 0 ? "it has sound or other streams, but no video stream"
                                       : "it has no video stream");
  codec_ = avcodec_find_decoder(stream_->codecpar->codec_id);
  if (!codec_)
    fail_open(std::string("this FFmpeg has no decoder for ") +
              avcodec_get_name(stream_->codecpar->codec_id));
}

double AvInput::frames_per_second() const {
  const AVRational rate = av_guess_frame_rate(context_.get(), stream_, nullptr);
  return rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
}

std::optional<nanoseconds> AvInput::duration() const {
  if (stream_->duration != AV_NOPTS_VALUE && stream_->duration > 0)
    return to_nanoseconds(stream_->duration, stream_->time_base);
  if (context_->duration != AV_NOPTS_VALUE && context_->duration > 0)
    return to_nanoseconds(context_->duration, AV_TIME_BASE_Q);
  return std::nullopt;
}

std::optional<std::int64_t> AvInput::frames() const {
  if (stream_->nb_frames > 0) return stream_->nb_frames;
  const auto length = duration();
  if (!length) return std::nullopt;
  const double frames = std::chrono::duration<double>(*length).count() * frames_per_second();
  if (frames < 0.5 || frames > 1e12) return std::nullopt;
  return std::llround(frames);
}

bool AvInput::tells_times() const noexcept {
  const int flags = context_->iformat->flags;
  // Not all raw codec streams have the flag for missing timestamps, but libav builds their index.
  const bool is_bare = (flags & AVFMT_GENERIC_INDEX) != 0 && (flags & AVFMT_TS_DISCONT) == 0;
  return (flags & AVFMT_NOTIMESTAMPS) == 0 && !is_bare;
}

bool AvInput::can_go_back() const noexcept {
  const bool is_waited_for = address_.silence_limit.count() > 0;
  return !is_waited_for && context_->pb && (context_->pb->seekable & AVIO_SEEKABLE_NORMAL) != 0;
}

std::optional<nanoseconds> AvInput::time_of(std::int64_t ticks) const {
  if (ticks == AV_NOPTS_VALUE) return std::nullopt;
  const std::int64_t start = stream_->start_time == AV_NOPTS_VALUE ? 0 : stream_->start_time;
  const nanoseconds time = to_nanoseconds(av_sat_sub64(ticks, start), stream_->time_base);
  if (time > kLongest || time < -kLongest) return std::nullopt;
  return time;
}

bool AvInput::read(AVPacket& packet) {
  begin_wait();
  skipped_damage_ = false;
  for (int damaged = 0; damaged < kMostDamagedInRow;) {
    av_packet_unref(&packet);
    const int got = av_read_frame(context_.get(), &packet);
    if (got >= 0 && packet.stream_index == stream_->index) return true;
    if (got >= 0) continue;  // of a stream that appeared later
    if (address_.stop.stop_requested()) return false;
    if (got == AVERROR(ENOMEM)) throw std::bad_alloc();
    // Some demuxers report every end in the same way; the I/O layer below knows more.
    const int below = context_->pb ? context_->pb->error : 0;
    const bool ended = got == AVERROR_EOF && (below >= 0 || below == AVERROR_EOF);
    if (silent_ || (got != AVERROR_INVALIDDATA && got != AVERROR(EAGAIN))) {
      if (silent_ || !ended) failure_ = reason(got == AVERROR_EOF ? below : got);
      return false;
    }
    ++damaged;
    skipped_damage_ = skipped_damage_ || got == AVERROR_INVALIDDATA;
  }
  return false;
}

bool AvInput::seek(nanoseconds time) {
  const std::int64_t start = stream_->start_time == AV_NOPTS_VALUE ? 0 : stream_->start_time;
  const std::int64_t ticks = av_rescale_q(time.count(), kNanoseconds, stream_->time_base);
  begin_wait();
  picture_deadline_ = steady_clock::time_point::max();
  return av_seek_frame(context_.get(), stream_->index, av_sat_add64(start, ticks),
                       AVSEEK_FLAG_BACKWARD) >= 0;
}

}  // namespace vcap
