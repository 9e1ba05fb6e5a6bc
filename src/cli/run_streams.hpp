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

#include "base/thread_annotations.hpp"
#include "cli/stop_signal.hpp"
#include "cli/stream_statistics.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::cli {

/// The streams of one run: started together, watched until all have ended, counted. Thread safety:
/// thread-compatible, except for what is marked.
class RunStreams {
 public:
  /// How a run ends.
  struct End {
    Clock::duration grace{};      ///< calls that have not returned by then are given up
    std::function<void()> leave;  ///< leaves the process if the streams still do not end
    bool stays = false;           ///< goes on without streams until it is stopped
  };

  void add(StreamConfig config) VCAP_EXCLUDES(mutex_);
  /// Starts all streams, shows progress on a terminal, and stops them if `stop` is raised or at a
  /// foreign exit. Returns when all have ended.
  void run(Pipeline& pipeline, StopSignal& stop, const End& end) VCAP_EXCLUDES(mutex_);
  /// Starts one more while they run. Throws what Pipeline::open_stream() throws, and SourceError
  /// (source_open) if the run is ending. Thread-safe.
  void open(Pipeline& pipeline, StreamConfig config) VCAP_EXCLUDES(mutex_);
  /// Ends one of them. Throws SourceError (unknown_stream). Thread-safe.
  StreamReport close(Pipeline& pipeline, const std::string& id) VCAP_EXCLUDES(mutex_);

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
    std::string id;
    std::string source;
    std::optional<std::int64_t> expected_frames;  ///< absent if the source does not know
    StreamStatistics statistics;
    std::optional<StreamReport> report;
  };

  std::unique_ptr<Entry> make_entry(StreamConfig& config);
  void wait_for_all(Pipeline& pipeline, bool stays) VCAP_EXCLUDES(mutex_);
  void wait_for(Pipeline& pipeline, Entry& entry) VCAP_EXCLUDES(mutex_);
  void begin_stop() VCAP_EXCLUDES(mutex_);
  std::string progress(std::chrono::duration<double> elapsed) const VCAP_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::unique_ptr<Entry>> entries_ VCAP_GUARDED_BY(mutex_);
  bool stopping_ VCAP_GUARDED_BY(mutex_) = false;
  std::vector<StreamConfig> configs_;  ///< of streams that have not begun
  std::atomic<std::int64_t> frames_ = 0;
  std::vector<StreamReport> reports_;  ///< after run()
  std::size_t given_up_ = 0;
  bool stopped_ = false;
};

}  // namespace vcap::cli
