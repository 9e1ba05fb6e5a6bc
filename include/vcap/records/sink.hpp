// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/image/annotator.hpp"
#include "vcap/media/video_encoding.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// What became of a sink's records: each is written, lost or queued. Thread safety: value.
struct SinkStats {
  std::uint64_t written = 0;
  std::map<std::string, std::uint64_t> lost{};  ///< by reason: "full", "failed"
  std::size_t queued = 0;                       ///< waiting or being written
  std::optional<std::string> last_failure{};    ///< the sink's message when it last failed
  /// Clips of events (make_event_sink()) that could not be written, by reason: "missing" (there is
  /// no file of its name), "incomplete" (the file has its name, but lacks pictures).
  std::map<std::string, std::uint64_t> lost_clips{};
};

/// Receives a stream's records, in the order of its frames. Hosts may derive their own.
///
/// Streams may share a sink. A sink that was not closed leaves nothing under its final name; what
/// vcap's own sinks have written by then stays in NAME.part. Thread safety: thread-safe.
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
  /// The names of the pictures that it uses of a record (Frame::pictures); a capsule of the stream
  /// must give each. If needs_pixels() is true, it gets all pictures anyway. None by default. [any
  /// thread, concurrent]
  virtual std::vector<std::string> pictures() const;
  /// Completes the output and gives it its final name. Idempotent. Throws OutputError. [control]
  virtual void close();
  /// Called before the first record: a record that cannot be written is lost, and the next one is
  /// tried (SinkPolicy). close() then completes the output without the lost ones. Does nothing by
  /// default. [control]
  virtual void allow_losses();
  /// `nullopt` if the sink does not count, which is the default. [any thread, concurrent]
  virtual std::optional<SinkStats> stats() const;
  /// Whether it uses FrameRecord::steps and FrameRecord::discontinuities, which cost a copy of the
  /// nodes for each capsule. False by default. [any thread, concurrent]
  virtual bool needs_steps() const;
};

/// One record per line (docs/records.md); streams may share it. Written as PATH.part in the same
/// folder until close(). A path that is not a regular file is written in place, and "-" is standard
/// output. A record that did not fit is removed from the file again. In output that is written in
/// place, a part of it may remain on its own line.
///
/// Without close(), or after a failure, PATH.part stays if it has a record; all its lines are
/// whole. If the process is killed, it has every record that was written, and perhaps a part of one
/// more. A PATH.part of an earlier run is renamed to PATH.part.N, with a warning. Throws
/// OutputError if the folder does not exist or is not writable, or another sink or process writes
/// to this path.
VCAP_EXPORT std::unique_ptr<Sink> make_json_lines_sink(const std::string& path);

/// The frames with their nodes drawn on them, as a clip, at their times (in .avi at a fixed rate).
/// The file's extension gives the container: .mp4, .mkv or .avi. For one stream only.
///
/// `annotator` draws into a copy of each frame, in the order of the stream, and may remember
/// earlier ones (make_annotators()). Null: what draw_nodes() draws. What it throws comes from
/// write(). The stream is not opened if none of its capsules gives a picture that the annotator
/// draws.
///
/// The clip begins at its first frame. `frames_per_second`: nominal, up to 1000; 0 (unknown) means
/// 25. A frame of another size than the first is fitted into the clip; for a null frame, the
/// previous picture is repeated. An odd width or height grows by a line that repeats the last.
///
/// Written as PATH.part in the same folder until close(). If the process is killed, or the sink is
/// not closed, the file there is a clip without its last second (and at most two frames more). A
/// PATH.part of an earlier run is renamed to PATH.part.N, with a warning.
///
/// Throws OutputError if the folder does not exist or is not writable, another sink or process
/// writes to this path, the extension is unknown, or the codec is not built into this machine's
/// libavcodec. Throws InvalidArgument if the rate or the
/// quality is out of range, or the container does not take the codec.
VCAP_EXPORT std::unique_ptr<Sink> make_annotated_video_sink(
    const std::string& path, double frames_per_second, const VideoEncoding& encoding = {},
    std::unique_ptr<Annotator> annotator = nullptr);

/// The same for a picture that a capsule of the stream gives, as it gave it: nothing is drawn on
/// it. Its type must be 8 bit with 1, 3 or 4 channels; a fourth channel is ignored. A frame that
/// lacks the picture, or on which a capsule failed, repeats the one before; before the first
/// picture it is left out. So the clip shows neither the frame itself nor a picture that rests on
/// what a failed capsule did not find. Throws like make_annotated_video_sink. Its write() throws
/// OutputError for a picture of another type. The stream is not opened if none of its capsules
/// gives the picture.
VCAP_EXPORT std::unique_ptr<Sink> make_picture_video_sink(const std::string& path,
                                                          const std::string& picture,
                                                          double frames_per_second,
                                                          const VideoEncoding& encoding = {});

/// Calls the host's function. [stream's delivery, in order; concurrent between streams]
VCAP_EXPORT std::unique_ptr<Sink> make_callback_sink(
    std::function<void(const FrameRecord&)> callback, bool needs_pixels = true);

}  // namespace vcap
