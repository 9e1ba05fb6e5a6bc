// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "vcap/base/histogram.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {

/// When an object was seen. Thread safety: value.
struct SeenTrack {
  Uuid id{};
  std::size_t name = 0;  ///< its number among the stream's names, when it was seen first
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
  std::int64_t begin_frame = 0;
  std::int64_t frames = 0;
  BoundingBox largest{};                   ///< of its boxes, for a thumbnail
  std::chrono::nanoseconds largest_at{0};  ///< the pts of that frame

  std::chrono::nanoseconds dwell() const noexcept { return end - begin; }
};

/// The tracks of a stream. Of tracks that are over, only the longest are kept apart, and the dwell
/// times of all. Thread safety: value.
class TrackTable {
 public:
  /// Tracks that are followed at once. If there are more, the half that was seen longest ago counts
  /// as over; such a track counts twice if it is seen again.
  static constexpr std::size_t kMostFollowed = 50'000;

  explicit TrackTable(std::size_t most_kept) : most_kept_(most_kept) {}

  /// Returns the dwell of the track so far.
  std::chrono::nanoseconds see(const Uuid& id, std::size_t name, const BoundingBox& box,
                               std::chrono::nanoseconds pts, std::int64_t frame);

  /// The longest tracks, in the order of their begin.
  std::vector<SeenTrack> longest() const;
  /// Dwell times in milliseconds of all tracks, by name.
  std::map<std::size_t, Histogram> dwell_times() const;
  std::size_t tracks() const noexcept { return over_ + followed_.size(); }
  /// Whether tracks were dropped from the table, so that some may count twice.
  bool has_dropped() const noexcept { return dropped_; }

 private:
  void drop_half();
  void keep(std::vector<SeenTrack>& kept, const SeenTrack& track) const;

  std::size_t most_kept_;
  std::unordered_map<Uuid, SeenTrack> followed_;
  std::vector<SeenTrack> kept_;  ///< a heap, the shortest first
  std::map<std::size_t, Histogram> dwell_times_;
  std::size_t over_ = 0;
  bool dropped_ = false;
};

}  // namespace vcap
