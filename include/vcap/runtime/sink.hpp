// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "vcap/base/export.hpp"
#include "vcap/runtime/frame_record.hpp"

namespace vcap {

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
  /// Completes the output and gives it its name; twice is once. Throws OutputError. [control]
  virtual void close();
};

/// One record a line (docs/records.md); streams may share it. Written under a temporary name in
/// the same folder until close(); what is no regular file is written in place, and "-" is standard
/// output. Throws OutputError where the folder does not exist or cannot be written to.
VCAP_EXPORT std::unique_ptr<Sink> make_json_lines_sink(const std::filesystem::path& path);

/// The frames with their nodes drawn on them, as a clip whose form the file's name tells (.mp4,
/// .avi). One stream's. A frame of another size than the first is fitted into it; 0 frames a second
/// (a rate that is not known) stands for 25. close() checks that every frame is there. Throws
/// OutputError, InvalidArgument for another rate than up to 1000.
VCAP_EXPORT std::unique_ptr<Sink> make_annotated_video_sink(const std::filesystem::path& path,
                                                            double frames_per_second);

/// Calls the host's function. [stream's delivery, in order; concurrent between streams]
VCAP_EXPORT std::unique_ptr<Sink> make_callback_sink(
    std::function<void(const FrameRecord&)> callback);

}  // namespace vcap
