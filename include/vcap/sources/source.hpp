// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/media/source_info.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/sources/reconnect_policy.hpp"
#include "vcap/sources/sampler.hpp"

namespace vcap {

class RandomAccess;

/// Which frames of a source are given, and how it is read. Thread safety: value.
struct SourceOptions {
  // Of stored sources alone; a live one is refused with any other values than these.
  std::chrono::nanoseconds start{0};              ///< the first frame is the first at or after it
  std::optional<std::chrono::nanoseconds> end{};  ///< frames from there on are left out
  std::int64_t stride = 1;                        ///< 3: every third frame of those, from the first
  Sampler sampler{};                              ///< of those frames; by default all
  std::int64_t loop = 1;                          ///< how often all of it is given; 0: endlessly

  // Of what is read over a network, and of webcams.
  ReconnectPolicy reconnect{};  ///< of live sources
  /// So long without data is the end of a connection. Of webcams it is the driver's.
  std::chrono::milliseconds silence_limit{5000};
  /// Of URLs: opening connects to nothing. The stream does, at its first read, and goes on trying
  /// as `reconnect` says, so that a camera which is off holds up and ends nothing. What is there is
  /// taken for live, and of an unknown size until then.
  bool connect_later = false;

  // Of videos, stored and live.
  HardwareDecoding hardware = HardwareDecoding::off;
  /// At most so many threads decode; 1: only the one that reads. 0: as many as the machine's cores
  /// and the other videos that are open leave. The pixels of a video without damage are the same.
  int decoder_threads = 0;
};

/// Where a stream's frames come from. Hosts may derive their own.
///
/// Owned by one stream, which reads it from one thread of its own. Thread safety:
/// thread-compatible, interrupt() excepted, which may be called at any time.
class VCAP_EXPORT Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source();

  virtual SourceInfo info() const = 0;
  /// The next frame; nothing at the end. Index, pts and discontinuity are set; the first frame
  /// has `start`. Pixels of a frame once given are never written again. Throws SourceError.
  /// [source thread]
  virtual std::optional<Frame> read() = 0;
  /// The same frames for several readers, each from where it likes; null where there is none: of
  /// live and endless sources, of loops, and where the place of every frame is not sure without
  /// decoding all of them. May look through the whole file, without decoding. It needs this source
  /// no longer, and does not change where it reads on. Throws SourceError. [control]
  virtual std::shared_ptr<const RandomAccess> random_access();
  /// Makes a read() that waits, and every later one, end soon. [any thread]
  virtual void interrupt() noexcept;
};

/// Opens what an operator names: a video or image file, a webcam's index ("0"), an rtsp/http(s)
/// URL, a folder of images, or a glob of them ("shots/*.png"), both in the natural order of their
/// names ("2" before "10").
///
/// A stored source (all but webcams and endless URLs) has the times of its container, and images
/// 25 a second; they count from the stream's start, also with SourceOptions::start, and rise
/// strictly: a frame whose time is missing, or not above the one before, comes one frame's duration
/// after that one. In a further loop, whose first frame has Discontinuity::loop, time goes on in
/// the same way. The index counts the frames that are given. A start is exact: its frame has the
/// time and pixels it has in the whole clip, save in clips whose times go back.
///
/// A sampler's rows are the frames that start, end and stride leave, and its elements the frames
/// that are given: index counts them, repeats share out their row's time evenly, and what follows a
/// jump has Discontinuity::seek. A null element has no picture. Where every frame's place is sure
/// without decoding (most files; images), groups of pictures without a row are left out, a row that
/// is not there is refused at once, and damage where no row is goes unseen; a row that is damaged
/// itself is logged, and from there on rows count what decoding from the beginning gives. Elsewhere
/// all is decoded, and the row is found missing where the source ends (source_read).
///
/// A live source has the times of the camera's clock where that is told (RTP, a webcam's driver),
/// else those at which its pictures came; with each connection they begin anew at this machine's
/// clock. Where it ends or falls silent it is connected again as the policy says; the first frame
/// then has Discontinuity::reconnect. Its end is an error. A frame has Discontinuity::gap where the
/// camera's clock shows that pictures before it are missing, and in every video where one before it
/// could not be decoded; what a decoder mends, as it can, is given as it is. interrupt() takes
/// effect within about 0.1 s; with a webcam, once its driver answers.
///
/// Throws SourceError (source_open) naming the source and the remedy; (source_empty) where it has
/// no frame in that range; InvalidArgument naming the option whose value is not possible.
VCAP_EXPORT std::unique_ptr<Source> open_source(const std::string& name,
                                                const SourceOptions& options = {});

}  // namespace vcap
