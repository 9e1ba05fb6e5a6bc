// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

class TraceLog;

/// Shows where the time of frames went: a file for https://ui.perfetto.dev or chrome://tracing
/// (Trace Event Format, JSON), written by pipelines (Pipeline::Settings::trace).
///
/// The file has a slice for each frame read, capsule call, backend call, batch and record
/// delivered. Arrows go from the reading of a frame through its calls to its delivery. An event
/// takes some hundred bytes: one minute of 25 frames a second and three capsules is 3 MB. The
/// threads that cause events write the file, in pieces, as PATH.part until close(). If the process
/// is killed or the disk is full, the events that were written stay there. Times are microseconds
/// since the trace was made. Pipelines may share it. Thread safety: thread-safe.
class VCAP_EXPORT Trace {
 public:
  /// Throws OutputError (output_open) with the path and the remedy.
  explicit Trace(const std::string& path);
  /// Without close(), no file is left. Pipelines may go on; they write no more events.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Completes the file and gives it its final name. Events that end later are not in it.
  /// Idempotent. Throws OutputError (output_write) if the file cannot be written, now or earlier; a
  /// write error ends the trace but no stream.
  void close();

 private:
  friend class TraceLog;
  const std::shared_ptr<TraceLog> log_;
};

}  // namespace vcap
