// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <opencv2/core/mat.hpp>

#include "media/av_hardware.hpp"
#include "media/av_input.hpp"
#include "media/av_pointers.hpp"
#include "media/bgr_converter.hpp"
#include "media/damage_log.hpp"
#include "media/decoder_threads.hpp"
#include "vcap/media/source_info.hpp"

namespace vcap {

/// Decodes an input's video in software or, if requested and possible, in hardware. Leaves out
/// damaged parts, as far as the codec reports them. Thread safety: thread-compatible.
class AvDecoder {
 public:
  /// How threads share the work. `stored`: also several whole pictures at once, which is fastest
  /// but delays each picture until as many packets were read. `live`: only slices of one picture.
  enum class Pace { stored, live };

  /// Logs at level info why no hardware is used if it was requested. `threads`: the threads that it
  /// may use; must outlive it. They are given back if the codec cannot use them. Throws SourceError
  /// (source_open).
  AvDecoder(std::unique_ptr<AvInput> input, Pace pace, HardwareDecoding hardware,
            DecoderThreads& threads);

  const AvInput& input() const noexcept { return *input_; }
  SourceInfo info() const;
  /// `off` if no device was opened.
  HardwareDecoding hardware() const noexcept;

  /// Goes to the next picture; false at the end, like AvInput::read. Throws SourceError
  /// (source_read) at the end if the last pictures were larger than AvAddress::max_pixels.
  bool next();
  /// Goes to the first picture at or after `time`; false at the end. Earlier pictures are decoded
  /// only if others refer to them. `alone`: no later picture is needed before the next seek; later
  /// pictures are then not decoded.
  bool next_at(std::chrono::nanoseconds time, bool alone);
  /// Whether a picture between this one and the previous one, or the last seek, could not be
  /// decoded.
  bool follows_damage() const noexcept { return follows_damage_; }
  /// Whether anything could not be decoded since the opening or the last seek.
  bool met_damage() const noexcept { return met_damage_; }
  /// The pictures that could not be decoded, up to this one or the end, since the last call or
  /// seek.
  MissingPictures take_missing() { return damage_.take_missing(); }
  /// The container's time of the picture; `nullopt` if it has none.
  std::optional<std::chrono::nanoseconds> time() const;
  /// The picture's pixels, rotated as the container says. Throws SourceError (source_read).
  cv::Mat picture();

  /// Goes to a position from which all pictures at or after `time` are decoded correctly. False if
  /// only the beginning is known to be such a position; then the decoder is not usable any more.
  bool seek(std::chrono::nanoseconds time);

 private:
  /// The target of next_at().
  struct Target {
    std::chrono::nanoseconds time;
    bool alone;
    bool has_gone_in = false;  ///< its packet was sent to the decoder
  };

  /// What is known about the size of the pictures.
  enum class Size {
    unknown,
    known,
    refused,  ///< the last picture was too large, or had no valid size
    failed    ///< as refused, and no later packet was accepted
  };

  void choose_hardware();
  void check_hardware_decodes();
  const AVFrame& in_memory();
  void feed();
  void note_damage() noexcept;
  void note_failure() noexcept;
  [[noreturn]] void fail_at_size() const;
  void end_feed();
  void skip_if_unneeded();
  bool read_until_key();
  int quarter_turns() const;

  const std::unique_ptr<AvInput> input_;
  AvCodecPointer codec_;
  AvPacketPointer packet_;
  AvFramePointer frame_;
  AvFramePointer copy_;  ///< of a picture that is on a device
  AvHardware hardware_;
  bool hardware_decodes_ = false;  ///< assumed, before the first picture
  BgrConverter converter_;
  std::optional<Target> target_;
  bool has_packet_ = false;    ///< packet_ was read and not yet decoded
  bool has_sought_ = false;    ///< since the opening
  bool has_come_out_ = false;  ///< a picture came out since the opening or the last seek
  bool follows_damage_ = false;
  bool met_damage_ = false;
  Size size_ = Size::unknown;
  DamageLog damage_;
};

}  // namespace vcap
