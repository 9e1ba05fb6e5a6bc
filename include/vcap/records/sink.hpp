// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/media/video_encoding.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// What became of a sink's records; each is counted in one of these. Thread safety: value.
struct SinkStats {
  std::uint64_t written = 0;
  std::map<std::string, std::uint64_t> lost;  ///< by reason: "full", "failed"
  std::size_t queued = 0;                     ///< waiting or being written
  std::optional<std::string> last_failure;    ///< the sink's message when it last failed
};

/// Receives a stream's records, in the order of its frames. Hosts may derive their own.
///
/// Streams may share a sink. A sink that was not closed leaves nothing under its final name. Thread
/// safety: thread-safe.
class VCAP_EXPORT Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink();

  /// Throws OutputError, which ends the stream that wrote. [stream's delivery, in order]
  virtual void write(const FrameRecord& record) = 0;
  /// Whether it uses the pixels of a record's frame. If no sink of a stream does, records may come
  /// without them. True by default. [any thread, concurrent]
  virtual bool needs_pixels() const;
  /// Completes the output and gives it its final name. Idempotent. Throws OutputError. [control]
  virtual void close();
  /// Called before the first record: a record that cannot be written is lost, and the next one is
  /// tried (SinkPolicy). close() then completes the output without the lost ones. Does nothing by
  /// default. [control]
  virtual void allow_losses();
  /// `nullopt` if the sink does not count, which is the default. [any thread, concurrent]
  virtual std::optional<SinkStats> stats() const;
};

/// One record per line (docs/records.md); streams may share it. Written under a temporary name in
/// the same folder until close(). A path that is not a regular file is written in place, and "-" is
/// standard output. If losses are allowed, a record that did not fit is removed from the file
/// again. In output that is written in place, a part of it may remain on its own line. Throws
/// OutputError if the folder does not exist or is not writable.
VCAP_EXPORT std::unique_ptr<Sink> make_json_lines_sink(const std::string& path);

/// The frames with their nodes drawn on them, as a clip, at their times (in .avi at a fixed rate).
/// The file's extension gives the container: .mp4, .mkv or .avi. For one stream only.
///
/// The clip begins at its first frame. `frames_per_second`: nominal, up to 1000; 0 (unknown) means
/// 25. A frame of another size than the first is fitted into the clip; for a null frame, the
/// previous picture is repeated. An odd width or height grows by a line that repeats the last.
///
/// Written under a temporary name in the same folder until close(). If the process is killed, the
/// file there is a clip without its last second (and at most two frames more).
///
/// Throws OutputError if the folder does not exist or is not writable, the extension is unknown, or
/// the codec is not built into this machine's libavcodec. Throws InvalidArgument if the rate or the
/// quality is out of range, or the container does not take the codec.
VCAP_EXPORT std::unique_ptr<Sink> make_annotated_video_sink(const std::string& path,
                                                            double frames_per_second,
                                                            const VideoEncoding& encoding = {});

/// Calls the host's function. [stream's delivery, in order; concurrent between streams]
VCAP_EXPORT std::unique_ptr<Sink> make_callback_sink(
    std::function<void(const FrameRecord&)> callback, bool needs_pixels = true);

}  // namespace vcap
