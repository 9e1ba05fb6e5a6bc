// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/stop_signal.hpp"
#include "cli/stream_statistics.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::cli {

/// The streams of one run: started together, watched until all have ended, counted. Thread safety:
/// thread-compatible.
class RunStreams {
 public:
  void add(StreamConfig config);
  /// Starts all streams, shows progress on a terminal, and stops them if `stop` is raised or at a
  /// foreign exit. Returns when all have ended. Calls that have not returned by the `grace` are
  /// given up; if the streams still do not end, calls `leave`, which leaves the process.
  void run(Pipeline& pipeline, StopSignal& stop, Clock::duration grace,
           const std::function<void()>& leave);

  /// The records so far. Thread-safe.
  std::int64_t frames() const noexcept { return frames_; }
  // After run().
  const std::vector<StreamReport>& reports() const noexcept { return reports_; }
  /// Whether a signal has stopped them.
  bool stopped() const noexcept { return stopped_; }
  /// Calls of capsules that were given up when the run ended.
  std::size_t given_up() const noexcept { return given_up_; }
  /// Whether there were frames, and a capsule failed on each.
  bool every_frame_failed() const;
  /// The first frame on which a capsule failed; empty if no capsule failed.
  std::string first_error() const;
  void print_summary(std::ostream& out) const;

 private:
  struct Entry {
    std::string source;
    StreamStatistics statistics;
    StreamConfig config;
  };

  std::string progress(std::chrono::duration<double> elapsed) const;

  std::vector<std::unique_ptr<Entry>> entries_;
  std::optional<std::int64_t> expected_frames_ = 0;  ///< absent if a source does not know
  std::atomic<std::int64_t> frames_ = 0;
  std::vector<StreamReport> reports_;
  std::size_t given_up_ = 0;
  bool stopped_ = false;
};

}  // namespace vcap::cli
