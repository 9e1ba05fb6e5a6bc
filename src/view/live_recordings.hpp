// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/thread_annotations.hpp"
#include "vcap/records/frame_record.hpp"
#include "vcap/view/live_view_settings.hpp"

namespace vcap {

/// The recordings that clients of a live view have started, at most one of a stream. Thread safety:
/// thread-safe.
class LiveRecordings {
 public:
  /// Closes what is still recording, with a log line if that fails.
  ~LiveRecordings();
  LiveRecordings() = default;
  LiveRecordings(const LiveRecordings&) = delete;
  LiveRecordings& operator=(const LiveRecordings&) = delete;

  /// Returns false if the stream is being recorded already.
  bool start(const std::string& stream, ViewRecording recording) VCAP_EXCLUDES(mutex_);
  /// Completes the stream's recording, and gives the names of its files; `nullopt` if there is
  /// none. Throws what the sinks throw when they are closed.
  std::optional<std::vector<std::string>> stop(const std::string& stream) VCAP_EXCLUDES(mutex_);
  bool has(const std::string& stream) const VCAP_EXCLUDES(mutex_);
  /// Never throws because of a sink: that recording ends, with a log line. [delivery]
  void write(const FrameRecord& record) VCAP_EXCLUDES(mutex_);
  /// The names of the files, by stream.
  nlohmann::json json() const VCAP_EXCLUDES(mutex_);

 private:
  using Shared = std::shared_ptr<const ViewRecording>;
  Shared take(const std::string& stream) VCAP_EXCLUDES(mutex_);
  /// Returns false if it is not the stream's recording any more.
  bool remove(const std::string& stream, const Shared& recording) VCAP_EXCLUDES(mutex_);

  std::atomic<bool> any_ = false;  ///< so that streams take no lock while nothing is recorded
  mutable Mutex mutex_;
  std::map<std::string, Shared> recordings_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
