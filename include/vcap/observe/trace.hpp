// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "vcap/base/export.hpp"

namespace vcap {

class TraceLog;

/// Where the time of frames went: a file for https://ui.perfetto.dev or chrome://tracing (the Trace
/// Event Format, JSON), which pipelines write (Pipeline::Settings::trace).
///
/// It has a slice for each reading of a frame, call of a capsule, call and batch of a backend, and
/// delivery of a record; arrows go from a frame's reading through its calls to its delivery. Some
/// hundred bytes each: a minute of 25 frames a second and three capsules is 3 MB. It is written in
/// pieces as it grows, by the threads that it tells of, and under a temporary name until close().
/// Times are microseconds since it was made. Pipelines may share it. Thread safety: thread-safe.
class VCAP_EXPORT Trace {
 public:
  /// Throws OutputError (output_open) naming the path and the remedy.
  explicit Trace(const std::filesystem::path& path);
  /// Without close(), nothing is left of the file. Pipelines may go on; nobody listens.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Completes the file and gives it its name; what goes on, or happens later, is not in it. Twice
  /// is once. Throws OutputError (output_write) where it could not be written, now or before: that
  /// ends the trace and no stream.
  void close();

 private:
  friend class TraceLog;
  const std::shared_ptr<TraceLog> log_;
};

}  // namespace vcap
