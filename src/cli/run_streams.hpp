// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
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
  /// Starts all streams, shows progress on a terminal, and stops them if `stop` is raised. Returns
  /// when all have ended.
  void run(Pipeline& pipeline, StopSignal& stop);

  // After run().
  const std::vector<StreamReport>& reports() const noexcept { return reports_; }
  std::int64_t frames() const;
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
  std::vector<StreamReport> reports_;
  bool stopped_ = false;
};

}  // namespace vcap::cli
