// SPDX-License-Identifier: Apache-2.0
#include "media/av_input.hpp"

#include <netdb.h>

extern "C" {
#include <libavutil/avstring.h>
}

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "files/url.hpp"
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
/// libav's readers of playlists open what a playlist names, by calling themselves or in a loop,
/// also if it names itself. Each level takes some kilobytes; a list of a few files needs some
/// hundred reads to be opened.
constexpr std::ptrdiff_t kDeepestStack = std::ptrdiff_t{128} << 10;
constexpr int kMostReads = 10'000;
/// After this many unreadable parts in a row, the rest counts as damaged too.
constexpr int kMostDamagedInRow = 4096;

std::string seconds_text(std::chrono::milliseconds time) {
  return number_text(std::chrono::duration<double>(time).count()) + " s";
}

}  // namespace

nanoseconds to_nanoseconds(std::int64_t ticks, AVRational time_base) {
  return nanoseconds(av_rescale_q(ticks, time_base, kNanoseconds));
}

AvInput::AvInput(AvAddress address) : address_(std::move(address)) {
  take_av_log();
  open();
  choose_stream();
}

int AvInput::must_stop(void* self) noexcept {
  auto& input = *static_cast<AvInput*>(self);
  if (input.runs_in_circles(__builtin_frame_address(0))) return 1;
  if (input.address_.stop.stop_requested()) return 1;
  if (input.address_.silence_limit.count() == 0 ||
      steady_clock::now() < std::min(input.deadline_, input.picture_deadline_))
    return 0;
  input.silent_ = true;
  return 1;
}

/// `here`: a place on the stack of the calling thread.
bool AvInput::runs_in_circles(const void* here) noexcept {
  if (!stack_ || !address_.access.names_files || std::this_thread::get_id() != opening_thread_)
    return false;
  return ++reads_ > kMostReads ||
         static_cast<const char*>(stack_) - static_cast<const char*>(here) > kDeepestStack;
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

/// libav reports a host that cannot be found as "Input/output error".
std::string AvInput::reason_of_opening(int error) const {
  const std::string host = error == AVERROR(EIO) && !silent_ ? host_of(address_.url) : "";
  if (host.empty()) return reason(error);
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (failed == 0) {
    ::freeaddrinfo(found);
    return reason(error);
  }
  return "its host " + quote(host) + " is not known: " + ::gai_strerror(failed);
}

void AvInput::fail_open(const std::string& why) const {
  std::string text = address_.cannot_open;
  text.replace(text.find("{}"), 2, why);
  throw SourceError(ErrorCode::source_open, address_.name + " " + text);
}

/// If that is the reason why the address was not opened.
void AvInput::refuse_unlisted_format() {
  if (address_.access.formats.empty()) return;
  const AVIOInterruptCB stopping{.callback = must_stop, .opaque = this};
  AVIOContext* io = nullptr;
  begin_wait();
  if (avio_open2(&io, address_.url.c_str(), AVIO_FLAG_READ, &stopping, nullptr) < 0) return;
  const AVInputFormat* format = nullptr;
  const int found = av_probe_input_buffer2(io, &format, address_.url.c_str(), nullptr, 0, 0);
  avio_closep(&io);
  if (found < 0 || !format || av_match_list(format->name, address_.access.formats.c_str(), ',') > 0)
    return;
  const std::string name = format->name;
  const std::string prefix = name == "hls" ? "hls:" : name == "concat" ? "ffconcat:" : "";
  throw SourceError(
      ErrorCode::source_open,
      address_.name + " has the format " + format->long_name + " (" + name + ")" +
          (prefix.empty()
               ? std::string(", which is not a container of video that can be opened; formats that "
                             "may name other files are not. Give MP4, Matroska, AVI or MPEG-TS")
               : ", which may name other files or addresses; if you trust it and what it names, "
                 "put " +
                     prefix + " before the source"));
}

void AvInput::open() {
  stack_ = __builtin_frame_address(0);
  opening_thread_ = std::this_thread::get_id();
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
  const auto allow = [&options](const char* option, const std::string& list) {
    if (!list.empty()) av_dict_set(&options, option, list.c_str(), 0);
  };
  allow("format_whitelist", address_.access.formats);
  allow("protocol_whitelist", address_.access.protocols);
  begin_wait();
  const int opened = avformat_open_input(&context, address_.url.c_str(), nullptr, &options);
  av_dict_free(&options);
  if (opened < 0) {  // the call has freed the context
    const std::string why = reason_of_opening(opened);
    if (opened == AVERROR(EINVAL)) refuse_unlisted_format();
    fail_open(why);
  }
  context_.reset(context);
  // A container may tell the size, which libav forgets if it cannot decode a picture of that size.
  if (const AVStream* stream = first_video()) check_size(*stream);
  begin_wait(2);
  const int found = find_streams();
  stack_ = nullptr;
  if (found < 0 || silent_) fail_open(reason(found));
}

/// libav decodes some pictures to find what the streams are. The bound holds for these, too, but
/// for streams that only appear now, as in MPEG-PS, libav's own bound does.
int AvInput::find_streams() {
  const std::int64_t most = buffer_pixels(address_.max_pixels);
  std::vector<AVDictionary*> options(context_->nb_streams, nullptr);
  for (AVDictionary*& one : options) av_dict_set_int(&one, "max_pixels", most, 0);
  const int found = avformat_find_stream_info(context_.get(), options.data());
  for (AVDictionary*& one : options) av_dict_free(&one);
  return found;
}

AVStream* AvInput::first_video() const {
  for (unsigned i = 0; i < context_->nb_streams; ++i) {
    AVStream* stream = context_->streams[i];
    const bool is_cover = (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
    if (stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !is_cover) return stream;
  }
  return nullptr;
}

void AvInput::choose_stream() {
  stream_ = first_video();
  for (unsigned i = 0; i < context_->nb_streams; ++i)
    if (context_->streams[i] != stream_) context_->streams[i]->discard = AVDISCARD_ALL;
  if (!stream_)
    fail_open(context_->nb_streams > 0 ? "it has sound or other streams, but no video stream"
                                       : "it has no video stream");
  codec_ = avcodec_find_decoder(stream_->codecpar->codec_id);
  if (!codec_)
    fail_open(std::string("this FFmpeg has no decoder for ") +
              avcodec_get_name(stream_->codecpar->codec_id));
  check_size(*stream_);
}

void AvInput::check_size(const AVStream& stream) const {
  const AVCodecParameters& form = *stream.codecpar;
  if (std::int64_t{form.width} * form.height <= address_.max_pixels) return;
  throw SourceError(ErrorCode::source_open,
                    address_.name + " has pictures of " + std::to_string(form.width) + " × " +
                        std::to_string(form.height) + " pixels, more than " +
                        std::to_string(address_.max_pixels) +
                        " (SourceOptions::max_pixels); give a smaller video, or raise the bound if "
                        "you trust it");
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
  const nanoseconds time = to_nanoseconds(from_start(ticks), stream_->time_base);
  if (time > kLongest || time < -kLongest) return std::nullopt;
  return time;
}

std::int64_t AvInput::from_start(std::int64_t ticks) const {
  const std::int64_t start = stream_->start_time == AV_NOPTS_VALUE ? 0 : stream_->start_time;
  return av_sat_sub64(ticks, start);
}

bool AvInput::read(AVPacket& packet) {
  begin_wait();
  skipped_damage_ = false;
  for (int damaged = 0; damaged < kMostDamagedInRow;) {
    av_packet_unref(&packet);
    const int got = av_read_frame(context_.get(), &packet);
    if (got >= 0 && packet.stream_index == stream_->index) {
      note(packet);
      return true;
    }
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

void AvInput::note(const AVPacket& packet) noexcept {
  ++packets_;
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (time != AV_NOPTS_VALUE) end_ = std::max(end_, av_sat_add64(time, packet.duration));
}

bool AvInput::seems_cut_off() const {
  return stream_->nb_frames > 0 && packets_ < stream_->nb_frames && !reached_announced_end() &&
         !is_complete_riff();
}

bool AvInput::reached_announced_end() const {
  const std::optional<nanoseconds> end = time_of(end_);
  const std::optional<nanoseconds> announced = duration();
  const double rate = frames_per_second();
  if (!end || !announced || rate <= 0) return false;
  const nanoseconds half_a_frame(std::llround(5e8 / rate));
  return *end + half_a_frame >= *announced;
}

/// Whether the file is RIFF, the form of AVI, and all of its chunks end within it.
bool AvInput::is_complete_riff() const {
  if (!can_go_back()) return false;
  AVIOContext* const io = context_->pb;
  const std::int64_t size = avio_size(io);
  const std::int64_t position = avio_tell(io);
  constexpr std::int64_t kHead = 8;   // name and length
  constexpr std::int64_t kLeast = 4;  // its kind; less means that the writer has not ended it
  std::int64_t end = 0;
  // A file above 1 GB has several chunks. Other bytes after the last one do not matter.
  while (end + kHead <= size && avio_seek(io, end, SEEK_SET) == end &&
         avio_rl32(io) == MKTAG('R', 'I', 'F', 'F')) {
    const std::int64_t length = avio_rl32(io);
    end = length < kLeast ? size + 1 : end + kHead + length;
    if (end < size) end += length % 2;
  }
  avio_seek(io, position, SEEK_SET);
  return end > 0 && end <= size;
}

bool AvInput::seek(nanoseconds time) {
  packets_ = 0;
  const std::int64_t start = stream_->start_time == AV_NOPTS_VALUE ? 0 : stream_->start_time;
  const std::int64_t ticks = av_rescale_q(time.count(), kNanoseconds, stream_->time_base);
  begin_wait();
  picture_deadline_ = steady_clock::time_point::max();
  return av_seek_frame(context_.get(), stream_->index, av_sat_add64(start, ticks),
                       AVSEEK_FLAG_BACKWARD) >= 0;
}

}  // namespace vcap
