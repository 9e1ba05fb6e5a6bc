// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "media/av_formats.hpp"

namespace vcap {

/// What libav opens, how long it may wait, and the error message if it fails. Thread safety: value.
struct AvAddress {
  std::string url{};   ///< in libav's form
  std::string name{};  ///< for messages, without a password
  /// The message after the name; "{}" is replaced by the reason.
  std::string cannot_open{};
  AvAccess access{};  ///< what libav may open
  /// Of one picture; larger ones are refused, and for none of them is there memory for more than
  /// buffer_pixels().
  std::int64_t max_pixels = std::numeric_limits<std::int64_t>::max();
  std::chrono::milliseconds silence_limit{0};  ///< 0: no limit, as for a disk
  std::stop_token stop{};                      ///< ends every wait
};

/// The bound for libavcodec's max_pixels, which it holds against its buffers; these have margins,
/// so that a small picture may have several times its pixels.
constexpr std::int64_t buffer_pixels(std::int64_t max_pixels) {
  constexpr std::int64_t kMargins = 1 << 20;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return max_pixels < kMost / 4 ? std::min(4 * max_pixels + kMargins, kMost) : kMost;
}

/// Saturates.
std::chrono::nanoseconds to_nanoseconds(std::int64_t ticks, AVRational time_base);

/// An open container; only its first video stream is read.
///
/// Waits end if no bytes come within the limit or stop is requested. That takes about 0.1 s, the
/// interval at which libav asks. Host name lookup is the exception, since the system does it.
/// Thread safety: thread-compatible.
class AvInput {
 public:
  /// Throws SourceError (source_open).
  explicit AvInput(AvAddress address);
  AvInput(const AvInput&) = delete;
  AvInput& operator=(const AvInput&) = delete;

  const AvAddress& address() const noexcept { return address_; }
  const AVStream& stream() const noexcept { return *stream_; }
  const AVCodec& codec() const noexcept { return *codec_; }
  double frames_per_second() const;  ///< 0 if unknown
  /// The container's frame count, or else an estimate from its duration; `nullopt` if it has
  /// neither.
  std::optional<std::int64_t> frames() const;
  std::optional<std::chrono::nanoseconds> duration() const;
  /// Whether the times are the container's. Some containers have none, and libav computes times
  /// from a frame rate.
  bool tells_times() const noexcept;
  /// Whether it is a file in which any position can be read at any time.
  bool can_go_back() const noexcept;
  /// Time from the stream's start; `nullopt` if the container has no time or an absurd one.
  std::optional<std::chrono::nanoseconds> time_of(std::int64_t ticks) const;
  /// The ticks since the stream's start, of which time_of() is the time.
  std::int64_t from_start(std::int64_t ticks) const;

  /// Starts the deadline for one picture: a few silence limits, for all packets read from here on.
  /// A sender whose data cannot be decoded counts as silent.
  void begin_picture() noexcept;
  /// The stream's next packet; false at the end or on an error, see failure().
  bool read(AVPacket& packet);
  /// Whether data before that packet was skipped because it was damaged.
  bool skipped_damage() const noexcept { return skipped_damage_; }
  /// Whether the file seems to be cut off: less was read than its header announces, and it does not
  /// have the form of a complete file. A header may announce too much: some writers count the times
  /// at which a picture was only repeated, and some count wrongly. Requires that read() has reached
  /// the end.
  bool seems_cut_off() const;
  /// Goes to a position before `time` if possible, without guarantee. False if the container cannot
  /// seek at all.
  bool seek(std::chrono::nanoseconds time);
  /// Why reading ended, such as "Connection reset by peer"; empty at the regular end.
  const std::string& failure() const noexcept { return failure_; }

 private:
  struct Close {
    void operator()(AVFormatContext* context) const noexcept { avformat_close_input(&context); }
  };

  static int must_stop(void* self) noexcept;
  bool runs_in_circles(const void* here) noexcept;
  /// Sets the deadline to `limits` silence limits from now.
  void begin_wait(int limits = 1) noexcept;
  std::string reason(int error) const;
  std::string reason_of_opening(int error) const;
  [[noreturn]] void fail_open(const std::string& why) const;
  void refuse_unlisted_format();
  void open();
  int find_streams();
  AVStream* first_video() const;
  void choose_stream();
  void check_size(const AVStream& stream) const;
  void note(const AVPacket& packet) noexcept;
  bool reached_announced_end() const;
  bool is_complete_riff() const;

  const AvAddress address_;
  std::chrono::steady_clock::time_point deadline_{};
  std::chrono::steady_clock::time_point picture_deadline_ =
      std::chrono::steady_clock::time_point::max();
  bool silent_ = false;
  bool skipped_damage_ = false;
  const void* stack_ = nullptr;  ///< of open(), while it runs
  int reads_ = 0;                ///< while a playlist is opened
  std::thread::id opening_thread_{};
  std::string failure_;
  std::unique_ptr<AVFormatContext, Close> context_;
  AVStream* stream_ = nullptr;
  const AVCodec* codec_ = nullptr;
  std::int64_t packets_ = 0;           ///< read since the opening or the last seek
  std::int64_t end_ = AV_NOPTS_VALUE;  ///< the latest end of a packet, in the stream's time base
};

}  // namespace vcap
