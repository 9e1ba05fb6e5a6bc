// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <unordered_map>

#include "records/record_counts.hpp"
#include "vcap/model/uuid.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap::cli {

/// Counts what one stream's records hold, for the summary.
///
/// Thread safety: frames() is thread-safe; add() is called by one thread at a time, the rest after
/// the stream has ended.
class StreamStatistics {
 public:
  void add(const FrameRecord& record);
  std::int64_t frames() const noexcept { return frames_; }

  /// The first capsule error, as "frame 7: capsule x: the error"; empty: none.
  const std::string& first_error() const noexcept { return counts_.first_error; }
  /// Prints the stream's part of the summary.
  void print(std::ostream& out, const std::string& source, const StreamReport& report) const;

 private:
  struct Track {
    std::int64_t frames = 0;
    std::int64_t last_frame = -1;
  };

  void add_tracks(const DetectionNode& node, std::int64_t frame_index);
  void close_old_tracks(std::int64_t frame_index);
  std::map<std::int64_t, std::int64_t> track_lengths() const;

  std::atomic<std::int64_t> frames_ = 0;
  RecordCounts counts_;
  std::unordered_map<Uuid, Track> tracks_;               ///< tracks that were seen recently
  std::map<std::int64_t, std::int64_t> closed_lengths_;  ///< of the others: how many, by frames
  std::int64_t closed_until_ = 0;
};

}  // namespace vcap::cli
