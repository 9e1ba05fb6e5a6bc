// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// The point of a node's box that stands for the node.
enum class BoxPoint {
  bottom_centre,
  centre,
  top_centre,
  bottom_left,
  bottom_right,
  top_left,
  top_right
};

/// A part of the picture: a polygon of 3 to 1000 points, x to the right and y down, in the unit of
/// EventRules. Its border belongs to it. If its sides cross each other, the even-odd rule says what
/// is inside. Zones may overlap. Thread safety: value.
struct EventZone {
  std::string name{};
  Coords polygon{};
  BoxPoint point = BoxPoint::bottom_centre;
  /// A track that is in the zone leaves it only when its point is more than this outside: pixels, 0
  /// or above. A point that trembles on the border enters once.
  double hysteresis = 5;

  bool operator==(const EventZone&) const = default;
};

/// A line between two points. Seen from `from` to `to`, "in" is from the left side to the right.
/// Thread safety: value.
struct EventLine {
  std::string name{};
  cv::Point2d from{}, to{};  ///< both belong to the line
  BoxPoint point = BoxPoint::bottom_centre;
  /// A track has crossed when its point is this far from the (endless) line, on the other side:
  /// pixels, 0 or above. A point that trembles on the line has not crossed it.
  double hysteresis = 5;

  bool operator==(const EventLine&) const = default;
};

/// A track comes into the zone; ends when it leaves.
struct EnterRule {
  std::string zone{};
  /// Whether a track that is first found inside the zone counts, too, such as in a zone with a
  /// door. Never within EventRules::grace of a discontinuity: such tracks were there before.
  bool appearing = false;

  bool operator==(const EnterRule&) const = default;
};

/// A track that was in the zone is outside. Momentary. A track that is lost has not left.
struct LeaveRule {
  std::string zone{};

  bool operator==(const LeaveRule&) const = default;
};

/// A track has been in the zone for a time; ends when it leaves.
struct StayRule {
  std::string zone{};  ///< empty: the whole picture
  /// How long, by the name of nodes; "*" is for names that are not listed. Without it, those are
  /// ignored. Each above 0.
  std::map<std::string, std::chrono::nanoseconds> at_least{};

  bool operator==(const StayRule&) const = default;
};

/// A track crosses a line. Momentary.
struct CrossRule {
  enum class Direction { both, in, out };

  std::string line{};
  Direction direction = Direction::both;

  bool operator==(const CrossRule&) const = default;
};

/// The number of tracks in a zone passes a bound. Exactly one of the bounds must be given. Tracks
/// that are not found for at most EventRules::grace count on.
struct CountRule {
  std::string zone{};                      ///< empty: the whole picture
  std::optional<std::int64_t> at_least{};  ///< 1 or above; begins at this count or more
  std::optional<std::int64_t> at_most{};   ///< 0 or above; begins at this count or less
  /// It ends only if the count is further than this from the bound: 0 or above; less than
  /// `at_least`.
  std::int64_t slack = 0;
  /// For how long the count must be past the bound until it begins, and back until it ends.
  std::chrono::nanoseconds hold{0};
  bool untracked = false;  ///< whether nodes without a track id count, too, in their frame

  bool operator==(const CountRule&) const = default;
};

/// A track's attribute changes. Momentary. The first value of a track is no change, and a frame
/// without a value is ignored.
struct AttributeRule {
  std::string zone{};  ///< empty: the whole picture
  std::string category{};
  std::vector<std::string> from{};  ///< values; empty: any
  std::vector<std::string> to{};    ///< values; empty: any
  /// For how long the new value must be seen, and no other, until it counts.
  std::chrono::nanoseconds hold{0};

  bool operator==(const AttributeRule&) const = default;
};

/// A rule for events. Its filter is held against the node in the frame in which an event would
/// begin; a lasting event begins in the first frame that fits. Thread safety: value.
struct EventRule {
  std::string name{};
  std::variant<EnterRule, LeaveRule, StayRule, CrossRule, CountRule, AttributeRule> what{};
  std::vector<std::string> objects{};  ///< names of nodes; empty: any
  /// Category to the values that fit; a node must have each category.
  std::map<std::string, std::vector<std::string>> attributes{};
  double min_confidence = 0;  ///< 0…1; a node without a confidence fits

  bool operator==(const EventRule&) const = default;
};

/// Rules for the events of a stream, and the zones and lines that they use. Thread safety: value.
struct EventRules {
  enum class Unit {
    pixels,   ///< of the frame
    relative  ///< 0…1: x is a share of the frame's width, y of its height
  };

  Unit unit = Unit::pixels;
  /// For how long a track that is not found stays where it was: 0 or above. It should be longer
  /// than the tracks are gone when a camera changes its exposure.
  std::chrono::nanoseconds grace = std::chrono::seconds(1);
  /// A discontinuity `gap` or `reconnect` of at most this keeps what is open; 0 or above.
  std::chrono::nanoseconds max_gap = std::chrono::seconds(30);
  /// A new track continues a lost one of the same name if their boxes' centres are at most this
  /// apart, in longer sides of the lost track's box, and the sides of the boxes differ by at most a
  /// factor of 2: 0 (never) or above. At 0.5, a person may take over the events of a neighbour.
  double handover = 0.2;
  std::vector<EventZone> zones{};
  std::vector<EventLine> lines{};
  std::vector<EventRule> rules{};

  bool operator==(const EventRules&) const = default;
};

/// Throws InvalidArgument that names the rule, zone or line, the field, its value, and what is
/// allowed. Thread-safe.
VCAP_EXPORT void validate(const EventRules& rules);

/// Schema "vcap.event-rules/1" (docs/events.md). Times are in seconds. from_json throws
/// InvalidArgument (invalid_json) with the JSON pointer if a field is unknown, missing or of a
/// wrong type, and what validate() throws.
VCAP_EXPORT void to_json(nlohmann::json& json, const EventRules& rules);
VCAP_EXPORT void from_json(const nlohmann::json& json, EventRules& rules);

}  // namespace vcap
