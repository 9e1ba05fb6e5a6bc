// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/algorithms/kalman_filter.hpp"
#include "vcap/algorithms/track_association.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {

/// How a MultiObjectTracker works. All times are times of the stream, never counts of frames.
/// Thread safety: value.
struct TrackerSettings {
  AssociationSettings association{};
  BoxMotion motion{};

  /// A new track is confirmed at once if its detection's confidence is at or above this: 0…1. Above
  /// 1, no track is confirmed at once.
  double confirm_at_once = 0.7;
  /// Any other track is confirmed when it is found again at least this long after its first
  /// detection. With 0, its second detection confirms it.
  std::chrono::nanoseconds confirm_after{0};
  /// A track that is not confirmed is forgotten if it is not found again within this.
  std::chrono::nanoseconds confirm_within = std::chrono::milliseconds(300);
  /// A confirmed track is forgotten if it is not found again within this. A longer time bridges
  /// longer occlusions, but risks giving the id to somebody else.
  std::chrono::nanoseconds max_lost = std::chrono::milliseconds(1500);
  /// The time in which the velocity of a lost track falls to 37 %: above 0. People behind something
  /// often slow down. A track that keeps its velocity would move away from them.
  std::chrono::nanoseconds lost_fading = std::chrono::seconds(1);
  /// For how long the predicted box of a confirmed track is given while it is not found; 0: never.
  std::chrono::nanoseconds emit_lost_for{0};
  /// The time constant of a track's mean encoding. A detection's encoding has the weight
  /// 1 − e^(−t/memory), with the time t since the last encoding. 0: only the last encoding counts.
  std::chrono::nanoseconds encoding_memory = std::chrono::milliseconds(500);

  bool operator==(const TrackerSettings&) const = default;
};

/// Gives the same id to the same thing in all frames of a stream. Uses a detector's boxes, their
/// confidences and, if there are any, encodings of how things look.
///
/// For every frame, its tracks are predicted to the frame's time (KalmanFilter) and matched with
/// the detections (associate_in_stages). What happens to a track:
///
///     confident detection ─▶ tentative ─ confirmed ─▶ tracked ◀─ found ── lost
///                                │                       └─ not found ─▶   │
///             not found within confirm_within           not found within max_lost
///                                └──────▶ forgotten ◀──────────────────────┘
///
/// A track gets its id when it is confirmed. Earlier frames are not given again, so confirming
/// costs latency: none for confident detections (`confirm_at_once`), and one frame for others by
/// default. In exchange there are fewer false tracks.
///
/// Times are the stream's, so results are about the same at any frame rate. If frames are farther
/// apart than `confirm_within` or `max_lost`, a track is still kept for one frame: it is not
/// forgotten before a frame in which it could have been found. A frame at the same time as the one
/// before (dt = 0) shows the same moment again: nothing moves, and its boxes have little weight.
///
/// Ids come from a random generator with this seed, so that a stored video has the same ids in
/// every run; they are unique and never reused. The result depends only on the seed, the settings
/// and the calls. Memory is bounded by the detections within `max_lost`; time by tracks ×
/// detections of a frame.
///
/// Sources: the stages of ByteTrack (Y. Zhang et al., ECCV 2022), with the motion model of SORT (A.
/// Bewley et al., ICIP 2016) in continuous time, and encodings as moving averages as in FairMOT (Y.
/// Zhang et al., IJCV 2021). Thread safety: thread-compatible; one for each stream.
class VCAP_EXPORT MultiObjectTracker {
 public:
  /// The result for a detection.
  struct Found {
    /// `nullopt` if the detection belongs to no confirmed track: it is below `low_confidence`, or
    /// unsure and matched with no track, or its track is tentative.
    std::optional<Uuid> id{};
    BoundingBox box{};  ///< the track's, smoothed; without a track, the detection's own

    bool operator==(const Found&) const = default;
  };
  /// A confirmed track without a detection in this frame.
  struct Predicted {
    Uuid id{};
    BoundingBox box{};
    std::size_t label = 0;
    std::chrono::nanoseconds lost_for{0};  ///< since it was last found

    bool operator==(const Predicted&) const = default;
  };
  /// What one frame gives.
  struct Result {
    std::vector<Found> found{};          ///< one for each detection, in their order
    std::vector<Predicted> predicted{};  ///< by `emit_lost_for`, by falling age of the tracks

    bool operator==(const Result&) const = default;
  };

  /// Throws InvalidArgument that names the setting that is outside its range.
  explicit MultiObjectTracker(const TrackerSettings& settings = {}, std::uint64_t seed = 0);

  /// Continues exactly from a result of save(), with these settings: the results are the same, to
  /// the last bit, as without the interruption. Throws InvalidArgument as the constructor does, and
  /// with invalid_json if `saved` has another form.
  static MultiObjectTracker restore(const nlohmann::json& saved,
                                    const TrackerSettings& settings = {});

  /// Takes the detections of the frame at `pts`.
  ///
  /// Throws InvalidArgument and changes nothing if `pts` is before that of the last frame, or if a
  /// detection is wrong. (After a seek or a loop, make another tracker.) The message has the
  /// detection's index. A detection is wrong if KalmanFilter would refuse its box, or if its
  /// confidence is outside 0…1. It is also wrong if encodings differ in their number of elements,
  /// or one is all zeros or not finite. If all encodings have another number of elements than those
  /// of the frames before, the earlier ones are forgotten.
  Result update(std::chrono::nanoseconds pts, std::span<const TrackedDetection> detections);

  const TrackerSettings& settings() const& noexcept { return settings_; }
  TrackerSettings settings() && { return settings_; }
  /// Uses other settings from the next frame on; throws InvalidArgument as the constructor does.
  void set_settings(const TrackerSettings& settings);

  /// How many tracks are kept, lost and tentative ones included.
  std::size_t track_count() const noexcept { return tracks_.size(); }

  /// All that restore() needs except the settings. Its numbers keep their exact values in JSON
  /// text.
  nlohmann::json save() const;

 private:
  struct Track {
    KalmanFilter filter;
    std::size_t label = 0;
    std::optional<Uuid> id{};  ///< once it is confirmed
    std::chrono::nanoseconds first_found{0}, last_found{0}, last_encoded{0};
    bool is_found = true;           ///< in the last frame
    std::vector<float> encoding{};  ///< of length 1; empty if unknown
  };

  void check(std::chrono::nanoseconds pts, std::span<const TrackedDetection> detections) const;
  void predict(std::chrono::nanoseconds pts);
  void forget_encodings_unlike(std::span<const TrackedDetection> detections);
  void take(Track& track, const TrackedDetection& detection, std::chrono::nanoseconds pts);
  void confirm_if_due(Track& track, double confidence, std::chrono::nanoseconds pts);
  void begin(const TrackedDetection& detection, std::chrono::nanoseconds pts);

  TrackerSettings settings_;
  std::mt19937_64 engine_;
  std::optional<std::chrono::nanoseconds> pts_{};  ///< of the last frame
  std::vector<Track> tracks_{};                    ///< by falling age
};

}  // namespace vcap
