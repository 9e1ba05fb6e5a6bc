// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/media/broken_pictures.hpp"
#include "vcap/media/source_info.hpp"
#include "vcap/media/source_state.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/sources/reconnect_policy.hpp"
#include "vcap/sources/sampler.hpp"

namespace vcap {

class RandomAccess;

/// Which frames of a source are given, and how the source is read. Thread safety: value.
struct SourceOptions {
  // Stored sources only; for a live source any other value throws.
  std::chrono::nanoseconds start{0};  ///< the first frame is the first one at or after this time
  std::optional<std::chrono::nanoseconds> end{};  ///< frames from this time on are left out
  std::int64_t stride = 1;  ///< 3: every third frame of those, starting with the first
  Sampler sampler{};        ///< applied to those frames; default: all
  std::int64_t loop = 1;    ///< how many times everything is given; 0: endlessly

  // Network sources and webcams.
  ReconnectPolicy reconnect{};  ///< live sources only
  /// A connection counts as lost after this time without data. Webcams use their driver's limit.
  std::chrono::milliseconds silence_limit{5000};
  /// URLs only: opening does not connect. The stream connects at its first read and retries as
  /// `reconnect` says, so a camera that is off delays no other stream; its own stream ends only if
  /// all attempts fail. The source counts as live, and its size is unknown until it is connected.
  bool connect_later = false;

  // Videos, stored and live.
  HardwareDecoding hardware = HardwareDecoding::off;
  /// Maximum number of decoding threads; 1: only the reading thread decodes. 0: as many as the
  /// machine's cores and the other open videos leave. It does not change the pixels of an undamaged
  /// video.
  int decoder_threads = 0;

  // Files and network sources.
  /// The most pixels of a picture or image, at least 1. A larger one is refused before there is
  /// memory for it: opening a video throws; later in it, and in a folder of images, the picture
  /// counts as one that cannot be decoded, and if no smaller one follows, read() throws. Default:
  /// 8192 × 8192.
  std::int64_t max_pixels = 67'108'864;
};

/// The source of a stream's frames. Hosts may derive their own.
///
/// Owned by one stream, which reads it from one thread of its own. Thread safety:
/// thread-compatible, except interrupt() and state(), which may be called at any time.
class VCAP_EXPORT Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source();

  virtual SourceInfo info() const = 0;
  /// The next frame; `nullopt` at the end. Index, pts and discontinuity are set; the first frame
  /// has `start`. The pixels of a frame that was given are never written again. Throws SourceError.
  /// [source thread]
  virtual std::optional<Frame> read() = 0;
  /// The pictures that were skipped so far because they could not be decoded; none by default.
  /// [source thread]
  virtual BrokenPictures broken_pictures() const;
  /// Access to the same frames for several readers, each from any position. Null for live and
  /// endless sources, for loops, and if the position of every frame is not certain without decoding
  /// all of them. May scan the whole file without decoding. The result does not need this source,
  /// and the next read() continues as before. Throws SourceError. [control]
  virtual std::shared_ptr<const RandomAccess> random_access();
  /// Makes a waiting read(), and every later one, end soon. [any thread]
  virtual void interrupt() noexcept;
  /// Whether a source that may be lost and found again is connected; absent by default. Must not
  /// wait for a read(). Pipeline::stats() calls it. [any thread]
  virtual std::optional<SourceState> state() const;
};

/// Opens a source by name: a video or image file, a webcam's index ("0"), an rtsp/http(s) URL, a
/// folder of images, or a glob of images ("shots/*.png"). Folders and globs are in the natural
/// order of their names ("2" before "10").
///
/// Files that name other files or addresses, such as playlists, are refused. Two kinds are opened
/// by name: "hls:FILE" or "hls:URL", whose files lie on the same machine or on servers, and
/// "ffconcat:FILE", whose files lie in its folder or below.
///
/// A stored source is any but a webcam or an endless URL. It has the times of its container; images
/// have 25 per second. Times count from the stream's start, also with SourceOptions::start, and
/// rise strictly. A frame whose time is missing, or not above the one before, comes one frame
/// duration after that one. In a further loop, time continues in the same way; its first frame has
/// Discontinuity::loop. The index counts the frames that are given. A start is exact: its frame has
/// the time and pixels that it has in the whole clip, except in clips whose times go back.
///
/// A sampler's rows are the frames that start, end and stride leave. Its elements are the frames
/// that are given: the index counts them, repeats divide their row's duration evenly, and an
/// element after a jump has Discontinuity::seek. A null element has no picture. If every frame's
/// position is certain without decoding (most files; images):
/// - groups of pictures without a selected row are skipped;
/// - a row that does not exist is refused at once;
/// - damage outside the selected rows is not noticed;
/// - damage at a selected row is logged; rows after it count what decoding from the start gives.
///
/// Otherwise everything is decoded, and a missing row is found when the source ends (source_read).
///
/// A picture that cannot be decoded is skipped: a file of a folder or glob as well as a frame of a
/// video. Source::broken_pictures() counts them, and the log names the first ones. The index counts
/// the frames that are given; the next one has Discontinuity::gap. It is an error only if no
/// picture can be decoded.
///
/// A live source has the times of the camera's clock if they are known (RTP, a webcam's driver),
/// otherwise the arrival times of its pictures. Each connection is aligned again with this
/// machine's clock. A source that ends or falls silent is reconnected as the policy says; the first
/// frame then has Discontinuity::reconnect. It ends only with an error, or when it is interrupted.
/// A frame also has Discontinuity::gap if the camera's clock shows that pictures before it are
/// missing. Pictures that the decoder repairs are given as they are. interrupt() takes effect
/// within about 0.1 s; with a webcam, once its driver returns.
///
/// Throws SourceError (source_open) naming the source and the remedy; SourceError (source_empty) if
/// it has no frame in that range; InvalidArgument naming the option whose value is not possible.
VCAP_EXPORT std::unique_ptr<Source> open_source(const std::string& name,
                                                const SourceOptions& options = {});

}  // namespace vcap
