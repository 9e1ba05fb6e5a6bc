// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "vcap/model/uuid.hpp"
#include "vcap/view/comparison.hpp"
#include "view/frame_difference.hpp"
#include "view/time_parts.hpp"

namespace vcap {

/// Frames one after the other that only one run has. Thread safety: value.
struct LoneFrames {
  ComparisonSide side = ComparisonSide::a;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count = 0;
  std::chrono::nanoseconds begin{0};
};

/// What differs in one stream, in bounded memory. Thread safety: value.
class StreamComparison {
 public:
  static constexpr std::size_t kMostLone = 100;
  /// Tracks whose partners are known. If there are more, all are forgotten.
  static constexpr std::size_t kMostTracks = 50'000;
  /// The series of over_time().
  enum Series : std::size_t { kAppeared, kVanished, kMoved, kOther };

  struct Counts {
    std::int64_t frames = 0;  ///< that both runs have
    std::int64_t equal = 0;
    std::int64_t different = 0;
    std::int64_t only_a = 0, only_b = 0;
    std::int64_t appeared = 0, vanished = 0, moved = 0, renamed = 0;
    std::int64_t attributes = 0, messages = 0, drops = 0;
    std::int64_t track_switches = 0;
  };

  /// A frame that both runs have.
  void add(const FrameRecord& a, const FrameDifference& difference);
  void add_alone(ComparisonSide side, const FrameRecord& record);
  /// Whether the frame that was added last has ids of tracks that are merely others.
  bool has_other_ids() const noexcept { return other_ids_; }

  const Counts& counts() const noexcept { return counts_; }
  const TimeParts& over_time() const noexcept { return over_time_; }
  std::chrono::nanoseconds end() const noexcept { return end_; }
  const std::vector<LoneFrames>& lone() const noexcept { return lone_; }
  std::int64_t other_lone() const noexcept { return other_lone_; }  ///< frames that are not listed

 private:
  void follow_equal(const DetectionNode& node);
  void follow_tracks(const FrameDifference& difference);
  /// Whether the track had another partner before.
  bool set_partner(const Uuid& track, const Uuid& partner);

  Counts counts_{};
  TimeParts over_time_{};
  std::chrono::nanoseconds end_{0};
  std::vector<LoneFrames> lone_;
  std::int64_t other_lone_ = 0;
  std::unordered_map<Uuid, Uuid> partners_;  ///< of tracks in A
  bool other_ids_ = false;
};

}  // namespace vcap
