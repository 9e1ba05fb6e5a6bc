// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// What became of the records that a sink was given: each is in one of these. Thread safety: value.
struct SinkStats {
  std::uint64_t written = 0;
  std::map<std::string, std::uint64_t> lost{};  ///< by reason: "full", "failed"
  std::size_t queued = 0;                       ///< waiting or being written
  std::optional<std::string> last_failure{};    ///< what the sink said when it last failed
};

/// Where a stream's records go, in the order of its frames. Hosts may derive their own.
///
/// May be shared by streams. A sink that was not closed leaves nothing under its final name.
/// Thread safety: thread-safe.
class VCAP_EXPORT Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink();

  /// Throws OutputError, which ends the stream that wrote. [stream's delivery, in order]
  virtual void write(const FrameRecord& record) = 0;
  /// Whether it looks at the pixels of a record's frame. Where no sink of a stream does, records
  /// may come without. True by default. [any thread, concurrent]
  virtual bool needs_pixels() const;
  /// Completes the output and gives it its name; twice is once. Throws OutputError. [control]
  virtual void close();
  /// Says before the first record that one which cannot be written is given up, and the next tried
  /// (SinkPolicy): close() then completes the output without those. Does nothing by default.
  /// [control]
  virtual void allow_losses();
  /// Nothing where the sink does not count, which is the default. [any thread, concurrent]
  virtual std::optional<SinkStats> stats() const;
};

/// One record a line (docs/records.md); streams may share it. Written under a temporary name in
/// the same folder until close(); what is no regular file is written in place, and "-" is standard
/// output. Where losses are allowed, a record that did not fit is taken out of the file again; in
/// what is written in place, a part of it may stand on a line of its own. Throws OutputError where
/// the folder does not exist or cannot be written to.
VCAP_EXPORT std::unique_ptr<Sink> make_json_lines_sink(const std::filesystem::path& path);

/// The frames with their nodes drawn on them, as a clip whose form the file's name tells (.mp4,
/// .avi). One stream's. A frame of another size than the first is fitted into it; at a null one,
/// what came before it stays. 0 frames a second (a rate that is not known) stands for 25. close()
/// checks that every frame is there. Throws OutputError, InvalidArgument for another rate than up
/// to 1000.
VCAP_EXPORT std::unique_ptr<Sink> make_annotated_video_sink(const std::filesystem::path& path,
                                                            double frames_per_second);

/// Calls the host's function. [stream's delivery, in order; concurrent between streams]
VCAP_EXPORT std::unique_ptr<Sink> make_callback_sink(
    std::function<void(const FrameRecord&)> callback, bool needs_pixels = true);

}  // namespace vcap
