// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/algorithms/event.hpp"
#include "vcap/algorithms/event_rules.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/frame.hpp"

namespace vcap {

/// Finds the events of one stream: a passive machine, without a clock or a thread.
///
/// It takes nodes with a track id, children included; others only where a rule counts them. A track
/// is known by its id, or continues a lost one (EventRules::handover). What becomes of a track:
///
///     new ─▶ found ◀──── found again within grace ────▶ missed ─ grace is over ─▶ forgotten
///
/// - Crossings: the path of a point is the straight line between its places in the frames where it
///   was found. A track has crossed if its path went through the line, ends included, an odd number
///   of times since it was last clear of the line, and it is now clear on the other side. A path
///   beside the ends does not count. A point exactly on the line has the side it came from; a track
///   that begins on the line, or nearer than the hysteresis, has none until it is clear.
/// - Zones: a track that is first found inside has not entered. A path through a zone without a
///   frame inside is no visit.
/// - A gap or reconnect of at most `max_gap` makes all tracks missed, from the frame after it on.
///   Paths do not lead across it: a track that is elsewhere afterwards raises nothing, and its open
///   events end with `discontinuity`. Its time does not count for StayRule. Other discontinuities,
///   and longer gaps, end all open events and forget all tracks. Counts begin no event within
///   `grace` of a discontinuity. A change of the resolution is treated as a gap without a duration.
///
/// The result depends only on the seed, the rules and the calls. Ids come from a random generator
/// with this seed. Memory is bounded by the tracks within `grace`; the time of a frame by its
/// tracks, the zones near them, and the numbers of lines and of count rules.
///
/// Sources: the side of a point is exact, by the adaptive orientation predicate of J. R. Shewchuk,
/// "Adaptive precision floating-point arithmetic and fast robust geometric predicates", 1997.
/// Thread safety: thread-compatible; one for each stream.
class VCAP_EXPORT EventDetector {
 public:
  /// Throws what validate() throws.
  explicit EventDetector(EventRules rules, std::uint64_t seed = 0);
  EventDetector(EventDetector&&) noexcept;
  EventDetector& operator=(EventDetector&&) noexcept;
  ~EventDetector();

  /// Takes the next frame; its pixels are not used. Returns what begins and ends, in order: an
  /// event begins and ends exactly once. In a null frame, nothing is found. `resolution`: of the
  /// frame in pixels; ignored for a null frame. `nodes`: the whole result for the frame.
  ///
  /// Throws InvalidArgument and changes nothing if the frame is earlier than the one before,
  /// without a discontinuity; if the resolution is empty; or if a node's outline is not finite or
  /// beyond ±1e9. A node without an outline is ignored, and so is a further node of the same track.
  std::vector<EventChange> update(const Frame& frame, cv::Size resolution,
                                  std::span<const DetectionNode> nodes);

  /// Ends all open events and forgets all tracks. The next update() begins anew.
  std::vector<EventChange> finish(EventEnd reason = EventEnd::stream_end);

  const EventRules& rules() const& noexcept;
  EventRules rules() &&;
  /// How many events are open.
  std::size_t open_count() const noexcept;
  /// How many tracks are kept, missed ones included.
  std::size_t track_count() const noexcept;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace vcap
