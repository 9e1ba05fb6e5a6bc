// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "algorithms/event_geometry.hpp"
#include "vcap/algorithms/event.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// What a rule about a zone keeps of one visit of a track.
struct RuleUse {
  std::uint32_t rule = 0;
  bool is_counted = false;        ///< in the count of a CountRule
  bool has_begun = false;         ///< an event of this visit
  std::unique_ptr<Event> open{};  ///< that event, while it is open
};

/// A track in a zone.
struct ZoneVisit {
  std::uint32_t zone = 0;
  bool entered = false;   ///< the track was found outside before
  bool appeared = false;  ///< it was first found inside, and not soon after a discontinuity
  EventMoment since{};
  std::chrono::nanoseconds clock{0};  ///< `since` without the gaps since then
  std::vector<RuleUse> uses{};        ///< one for each rule about the zone
};

/// A track's attribute, for one rule.
struct AttributeValue {
  std::optional<std::string> value{};    ///< absent: not known yet
  std::optional<std::string> pending{};  ///< another value, which is not yet held for long enough
  std::chrono::nanoseconds pending_since{0};
};

/// All that is kept of a track.
struct EventTrack {
  Uuid id{};
  std::string name{};
  BoundingBox box{};  ///< in the last frame in which it was found
  EventMoment last{};
  std::chrono::nanoseconds kept_from{0};  ///< grace counts from here
  std::int64_t found_in = -1;             ///< the number of that update
  bool begins_anew = true;  ///< its path does: it is new, or a gap followed the last frame
  bool is_new = true;
  std::vector<LinePassage> lines{};
  std::vector<ZoneVisit> visits{};  ///< by rising zone
  std::vector<AttributeValue> attributes{};
};

/// A node of this frame, with its track.
struct FoundNode {
  const DetectionNode* node = nullptr;
  BoundingBox box{};
  EventTrack* track = nullptr;
};

/// The tracks of a stream, the one that was found longest ago first. Thread safety:
/// thread-compatible.
class EventTracks {
 public:
  using List = std::list<EventTrack>;

  List& all() noexcept { return tracks_; }
  std::size_t size() const noexcept { return tracks_.size(); }
  /// Finds or makes the track of each node; those of one track that was found already in this
  /// update lose their place in the list. A new track continues a missed one if that is near
  /// (EventRules::handover).
  void find(std::vector<FoundNode>& nodes, std::int64_t update, double handover);
  /// Removes the first track.
  void forget_first();
  void clear() noexcept;

 private:
  void hand_over(std::vector<FoundNode*>& unknown, std::int64_t update, double handover);
  void add(FoundNode& node, std::int64_t update);

  List tracks_;
  std::unordered_map<Uuid, List::iterator> by_id_;
};

}  // namespace vcap
