// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace vcap {

/// What libav opens, how long it may wait, and the error message if it fails. Thread safety: value.
struct AvAddress {
  std::string url{};   ///< in libav's form
  std::string name{};  ///< for messages, without a password
  /// The message after the name; "{}" is replaced by the reason.
  std::string cannot_open{};
  std::chrono::milliseconds silence_limit{0};  ///< 0: no limit, as for a disk
  std::stop_token stop{};                      ///< ends every wait
};

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

  /// Starts the deadline for one picture: a few silence limits, for all packets read from here on.
  /// A sender whose data cannot be decoded counts as silent.
  void begin_picture() noexcept;
  /// The stream's next packet; false at the end or on an error, see failure().
  bool read(AVPacket& packet);
  /// Whether data before that packet was skipped because it was damaged.
  bool skipped_damage() const noexcept { return skipped_damage_; }
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
  /// Sets the deadline to `limits` silence limits from now.
  void begin_wait(int limits = 1) noexcept;
  std::string reason(int error) const;
  [[noreturn]] void fail_open(const std::string& why) const;
  void open();
  void choose_stream();

  const AvAddress address_;
  std::chrono::steady_clock::time_point deadline_{};
  std::chrono::steady_clock::time_point picture_deadline_ =
      std::chrono::steady_clock::time_point::max();
  bool silent_ = false;
  bool skipped_damage_ = false;
  std::string failure_;
  std::unique_ptr<AVFormatContext, Close> context_;
  AVStream* stream_ = nullptr;
  const AVCodec* codec_ = nullptr;
};

}  // namespace vcap
