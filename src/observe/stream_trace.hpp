// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "observe/trace_log.hpp"

namespace vcap {

/// Writes one stream's events to a trace: a lane for its source and one for its records. Thread
/// safety: thread-safe, if calls of read() come one at a time, and so do calls of recorded().
class StreamTrace {
 public:
  using time_point = TraceLog::time_point;

  /// Null if there is no log.
  static std::unique_ptr<StreamTrace> make(std::shared_ptr<TraceLog> log, const std::string& id);
  StreamTrace(std::shared_ptr<TraceLog> log, const std::string& id);

  /// Adds the reading of a frame, which began at `begin`; returns the frame's number in the trace.
  std::uint64_t read(time_point begin, std::int64_t index) noexcept;
  void dropped(std::int64_t index, const char* reason) noexcept;
  void recorded(time_point begin, std::int64_t index, std::uint64_t frame) noexcept;

 private:
  const std::shared_ptr<TraceLog> log_;
  const int reading_;
  const int recording_;
};

}  // namespace vcap
