// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>

#include "vcap/model/uuid.hpp"
#include "vcap/runtime/frame_record.hpp"
#include "vcap/runtime/pipeline.hpp"

namespace vcap::cli {

/// Counts what one stream's records hold, for the summary.
///
/// Thread safety: frames() is thread-safe; add() is called by one thread at a time, the rest after
/// the stream has ended.
class StreamStatistics {
 public:
  void add(const FrameRecord& record);
  std::int64_t frames() const noexcept { return frames_; }

  /// The first capsule that failed, as "frame 7: capsule x: what it said".
  const std::optional<std::string>& first_error() const noexcept { return first_error_; }
  /// The stream's part of the summary.
  void print(std::ostream& out, const std::string& source, const StreamReport& report) const;

 private:
  struct Track {
    std::int64_t frames = 0;
    std::int64_t last_frame = -1;
  };
  using Counts = std::map<std::string, std::int64_t>;

  void add(const DetectionNode& node, std::int64_t frame_index);
  void close_old_tracks(std::int64_t frame_index);
  std::map<std::int64_t, std::int64_t> track_lengths() const;
  static void print(std::ostream& out, const Counts& counts);

  std::atomic<std::int64_t> frames_ = 0;
  std::int64_t frames_with_objects_ = 0;
  Counts objects_;
  std::map<std::string, Counts> attributes_;
  std::int64_t encodings_ = 0;
  std::unordered_map<Uuid, Track> tracks_;               ///< that were seen lately
  std::map<std::int64_t, std::int64_t> closed_lengths_;  ///< of the others: how many, by frames
  std::int64_t closed_until_ = 0;
  std::optional<std::string> first_error_;
};

}  // namespace vcap::cli
