// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <opencv2/core/mat.hpp>

#include "media/av_hardware.hpp"
#include "media/av_input.hpp"
#include "media/bgr_converter.hpp"
#include "media/damage_log.hpp"
#include "media/decoder_threads.hpp"
#include "vcap/media/source_info.hpp"

namespace vcap {

/// Decodes an input's video, in software or, where that is asked for and possible, by hardware.
/// Damaged parts are left out, as far as the codec tells them. Thread safety: thread-compatible.
class AvDecoder {
 public:
  /// How many threads decode, and whether whole pictures may do so at once, which is fastest but
  /// holds each back until as many have come.
  enum class Pace { stored, live };

  /// Logs, as an info, why there is no hardware where it is asked for. Throws SourceError
  /// (source_open).
  /// `threads` is what it may have, and outlives it; what the codec can make no use of is given
  /// back.
  AvDecoder(std::unique_ptr<AvInput> input, Pace pace, HardwareDecoding hardware,
            DecoderThreads& threads);

  const AvInput& input() const noexcept { return *input_; }
  SourceInfo info() const;
  /// Off where there was no device.
  HardwareDecoding hardware() const noexcept;

  /// Goes to the next picture; false at the end, as AvInput::read.
  bool next();
  /// Goes to the first picture at or after that time; false at the end. Those before it are decoded
  /// only where others are made of them. `alone`: nothing is wanted after it before the next seek,
  /// and so nothing after it is decoded.
  bool next_at(std::chrono::nanoseconds time, bool alone);
  /// Whether a picture between this one and the one before, or the last seek, could not be decoded.
  bool follows_damage() const noexcept { return follows_damage_; }
  /// Whether anything could not be decoded since the opening, or the last seek.
  bool met_damage() const noexcept { return met_damage_; }
  /// The container's time of the picture; nothing where it has none.
  std::optional<std::chrono::nanoseconds> time() const;
  /// Its pixels, turned as the container says. Throws SourceError (source_read).
  cv::Mat picture();

  /// Goes to a place from which all pictures at or after that time are decoded right. False where
  /// only the beginning is known to be one, and the decoder is of no further use.
  bool seek(std::chrono::nanoseconds time);

 private:
  struct FreeCodec {
    void operator()(AVCodecContext* context) const noexcept { avcodec_free_context(&context); }
  };
  struct FreePacket {
    void operator()(AVPacket* packet) const noexcept { av_packet_free(&packet); }
  };
  struct FreeFrame {
    void operator()(AVFrame* frame) const noexcept { av_frame_free(&frame); }
  };

  /// What next_at() is on its way to.
  struct Target {
    std::chrono::nanoseconds time;
    bool alone;
    bool has_gone_in = false;  ///< its packet is with the decoder
  };

  void choose_hardware();
  void see_whether_hardware_decodes();
  const AVFrame& in_memory();
  void feed();
  void note_damage() noexcept;
  void end_feed();
  void leave_out_if_unneeded();
  bool read_until_key();
  int quarter_turns() const;

  const std::unique_ptr<AvInput> input_;
  std::unique_ptr<AVCodecContext, FreeCodec> codec_;
  std::unique_ptr<AVPacket, FreePacket> packet_;
  std::unique_ptr<AVFrame, FreeFrame> frame_;
  std::unique_ptr<AVFrame, FreeFrame> copy_;  ///< of a picture that is on a device
  AvHardware hardware_;
  bool hardware_decodes_ = false;  ///< or is believed to, before the first picture
  BgrConverter converter_;
  std::optional<Target> target_;
  bool has_packet_ = false;    ///< packet_ is read and not yet decoded
  bool has_sought_ = false;    ///< since the opening
  bool has_come_out_ = false;  ///< a picture, since the opening or the last seek
  bool follows_damage_ = false;
  bool met_damage_ = false;
  DamageLog damage_;
};

}  // namespace vcap
