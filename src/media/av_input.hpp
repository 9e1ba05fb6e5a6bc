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

/// What libav is asked to open, how long it may wait, and what is said where it cannot.
/// Thread safety: value.
struct AvAddress {
  std::string url{};   ///< as libav takes it
  std::string name{};  ///< as messages have it: without a password
  /// What follows the name in a message; the reason goes in its place "{}".
  std::string cannot_open{};
  std::chrono::milliseconds silence_limit{0};  ///< 0: waits without end, as for a disk
  std::stop_token stop{};                      ///< ends every wait at once
};

/// A container that is open, of which the first video stream is read.
///
/// Where no bytes come within the limit, or stop is requested, waits end within about 0.1 s, which
/// is how often libav asks. Looking up a host's name is the exception: the system does it.
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
  double frames_per_second() const;  ///< 0 where unknown
  /// By the container's own count, or else by its length; nothing where it tells neither.
  std::optional<std::int64_t> frames() const;
  std::optional<std::chrono::nanoseconds> duration() const;
  /// Whether its times are the container's: some have none, and libav makes them up from a rate.
  bool tells_times() const noexcept;
  /// Whether it is a file, of which any part can be had at any time.
  bool can_go_back() const noexcept;
  /// Time from the stream's start; nothing where the container has none for it, or an absurd one.
  std::optional<std::chrono::nanoseconds> time_of(std::int64_t ticks) const;

  /// From here on, packets are read for one picture, which may take a few limits and no longer:
  /// one who sends what cannot be decoded is as good as silent.
  void begin_picture() noexcept;
  /// The stream's next packet; false at the end, where failure() says whether it was one.
  bool read(AVPacket& packet);
  /// Whether there was something before that packet that no packet could be made of.
  bool skipped_damage() const noexcept { return skipped_damage_; }
  /// Before that time, if it can; no more is promised. False where the container cannot at all.
  bool seek(std::chrono::nanoseconds time);
  /// Why reading ended, such as "Connection reset by peer"; empty at the end of all there is.
  const std::string& failure() const noexcept { return failure_; }

 private:
  struct Close {
    void operator()(AVFormatContext* context) const noexcept { avformat_close_input(&context); }
  };

  static int must_stop(void* self) noexcept;
  /// From now on, the limit that many times.
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
