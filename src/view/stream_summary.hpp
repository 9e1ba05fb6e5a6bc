// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/records/frame_record.hpp"
#include "view/event_table.hpp"
#include "view/heat_grid.hpp"
#include "view/time_parts.hpp"
#include "view/track_table.hpp"
#include "view/track_thumbnails.hpp"

namespace vcap {

/// A message of a capsule: how often, and where first. Thread safety: value.
struct SeenMessage {
  std::string capsule{};
  std::string code{};
  std::string text{};
  std::int64_t count = 0;
  /// The first of its frames, by index and pts.
  std::vector<std::pair<std::int64_t, std::chrono::nanoseconds>> frames{};
};

/// A change during the run. Thread safety: value.
struct SeenChange {
  std::int64_t frame = 0;
  std::chrono::nanoseconds pts{0};
  std::string text{};
};

/// What the records of one stream say, in bounded memory. Thread safety: thread-compatible.
class StreamSummary {
 public:
  static constexpr std::size_t kMostNames = 32;      ///< the last one stands for all others
  static constexpr std::size_t kMostValues = 200;    ///< of attributes
  static constexpr std::size_t kMostMessages = 100;  ///< of errors, and of warnings
  static constexpr std::size_t kMostFrames = 8;      ///< that are named for a message
  static constexpr std::size_t kMostChanges = 200;

  static constexpr int kBackgroundSide = 640;  ///< pixels of the longer side

  explicit StreamSummary(std::size_t most_tracks) : tracks_(most_tracks) {}

  /// If the frame has pixels, takes thumbnails of tracks, and the first frame as background.
  void add(const FrameRecord& record);
  void add(const EventRecord& record) { events_.add(record); }

  std::int64_t frames() const noexcept { return frames_; }
  std::int64_t failed_frames() const noexcept { return failed_frames_; }
  std::int64_t objects() const noexcept { return objects_; }
  /// From the first frame to the last.
  std::chrono::nanoseconds duration() const noexcept { return end_ - begin_; }
  std::chrono::nanoseconds begin() const noexcept { return begin_; }
  const cv::Size& resolution() const noexcept { return resolution_; }
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// Objects by the number of their name.
  const std::vector<std::int64_t>& objects_by_name() const noexcept { return objects_by_name_; }
  const TimeParts& over_time() const noexcept { return over_time_; }
  const HeatGrid& heat() const noexcept { return heat_; }
  const TrackTable& tracks() const noexcept { return tracks_; }
  const EventTable& events() const noexcept { return events_; }
  /// A data URI of a picture that add() has taken; empty if there is none.
  std::string thumbnail(const Uuid& track) const { return thumbnails_.of(track); }
  const std::string& background() const noexcept { return background_; }
  /// Why there are no pictures, if they could not be made.
  const std::string& picture_failure() const noexcept { return picture_failure_; }
  /// By category and value. If there are too many, the rest is in `other_values()`.
  const std::map<std::string, std::map<std::string, std::int64_t>>& attributes() const noexcept {
    return attributes_;
  }
  std::int64_t other_values() const noexcept { return other_values_; }
  std::int64_t dropped() const noexcept;
  /// Frames by the reason of their drop.
  const std::map<std::string, std::int64_t>& drops() const noexcept { return drops_; }
  const std::vector<SeenMessage>& errors() const noexcept { return errors_.messages; }
  std::int64_t other_errors() const noexcept { return errors_.others; }
  const std::vector<SeenMessage>& warnings() const noexcept { return warnings_.messages; }
  std::int64_t other_warnings() const noexcept { return warnings_.others; }
  const std::vector<SeenChange>& changes() const noexcept { return changes_; }
  std::int64_t other_changes() const noexcept { return other_changes_; }

 private:
  struct Messages {
    std::vector<SeenMessage> messages{};
    std::map<std::string, std::size_t> places{};  ///< by capsule, code and text
    std::int64_t others = 0;

    void add(const FrameRecord::CapsuleError& error, const Frame& frame);
  };

  std::size_t name_number(const std::string& name);
  void add(const DetectionNode& node, const FrameRecord& record);
  void begin_pictures(const Frame& frame);
  void take_thumbnail(const DetectionNode& node, const BoundingBox& box, const FrameRecord& record,
                      std::chrono::nanoseconds dwell);
  void add_changes(const FrameRecord& record);
  void add_change(const Frame& frame, std::string text);

  std::int64_t frames_ = 0;
  std::int64_t failed_frames_ = 0;
  std::int64_t objects_ = 0;
  std::chrono::nanoseconds begin_{0};
  std::chrono::nanoseconds end_{0};
  cv::Size resolution_{};
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> name_numbers_;
  std::vector<std::int64_t> objects_by_name_;
  TimeParts over_time_;
  HeatGrid heat_;
  TrackTable tracks_;
  EventTable events_;
  TrackThumbnails thumbnails_;
  std::string background_;
  std::string picture_failure_;
  std::map<std::string, std::map<std::string, std::int64_t>> attributes_;
  std::size_t values_ = 0;
  std::int64_t other_values_ = 0;
  std::map<std::string, std::int64_t> drops_;
  Messages errors_;
  Messages warnings_;
  std::vector<SeenChange> changes_;
  std::int64_t other_changes_ = 0;
};

}  // namespace vcap
