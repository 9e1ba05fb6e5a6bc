// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "observe/trace_log.hpp"

namespace vcap {

/// What a trace is told of one stream: the lane of its source and that of its records. Thread
/// safety: thread-safe, where read() and recorded() each come one at a time.
class StreamTrace {
 public:
  using time_point = TraceLog::time_point;

  /// Null where there is no log.
  static std::unique_ptr<StreamTrace> make(std::shared_ptr<TraceLog> log, const std::string& id);
  StreamTrace(std::shared_ptr<TraceLog> log, const std::string& id);

  /// A frame that reading gave since `begin`; gives its number in the trace.
  std::uint64_t read(time_point begin, std::int64_t index) noexcept;
  void dropped(std::int64_t index, const char* reason) noexcept;
  void recorded(time_point begin, std::int64_t index, std::uint64_t frame) noexcept;

 private:
  const std::shared_ptr<TraceLog> log_;
  const int reading_;
  const int recording_;
};

}  // namespace vcap
