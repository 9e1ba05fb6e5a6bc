// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {

/// What a rule watches for; EventRule says when each begins and ends.
enum class EventKind { enter, leave, stay, cross, count, attribute };

/// Why an event has ended.
enum class EventEnd {
  momentary,      ///< it has no duration: leave, cross and attribute end in the frame they begin in
  left,           ///< the track has left the zone
  track_lost,     ///< the track was not found for longer than EventRules::grace
  over,           ///< the count is back within its bound
  discontinuity,  ///< nobody saw what happened: seek, loop, a new start, or a long gap
  stream_end,     ///< the stream, or the sink, has ended
  interrupted     ///< the process ended before it; written when the journal is opened again
};

/// The names in records, such as "track_lost". Thread-safe.
VCAP_EXPORT std::string_view to_string(EventKind kind) noexcept;
VCAP_EXPORT std::string_view to_string(EventEnd reason) noexcept;

/// A frame of a stream. Thread safety: value.
struct EventMoment {
  std::int64_t frame_index = 0;
  std::chrono::nanoseconds pts{0};

  bool operator==(const EventMoment&) const = default;
};

/// Something that happened in a stream, by one rule. Thread safety: value.
struct Event {
  Uuid id{};  ///< the same at its begin and its end, and of no other event
  EventKind kind = EventKind::enter;
  std::string rule{};  ///< its name
  std::string zone{};  ///< its name; empty: the whole picture, or a rule about a line
  std::string line{};  ///< its name; empty unless the kind is `cross`

  /// The track, at the begin of the event; absent if the kind is `count`.
  std::optional<Uuid> track_id{};
  std::string object{};               ///< the node's name, such as "person"; empty with `count`
  std::optional<BoundingBox> bbox{};  ///< the node's, in pixels of the frame of `begin`
  std::optional<double> confidence{};

  std::string direction{};              ///< of `cross`: "in" or "out"
  std::string category{};               ///< of `attribute`
  std::string from{}, to{};             ///< of `attribute`: its values
  std::optional<std::int64_t> count{};  ///< of `count`, in the frame of `begin`

  EventMoment begin{};  ///< the frame in which all that the rule demands was given
  /// Of `stay`: the frame in which the track was first found in the zone. Of `count`: the first
  /// frame past the bound.
  std::optional<EventMoment> since{};
  /// Absent while the event is open, and if it was interrupted. For `track_lost`, `discontinuity`
  /// and `stream_end`: the last frame in which it is known to have been.
  std::optional<EventMoment> end{};
  std::optional<EventEnd> reason{};  ///< absent while the event is open

  bool operator==(const Event&) const = default;
};

/// The begin or the end of an event. Thread safety: value.
struct EventChange {
  enum class Phase { begin, end };

  Phase phase = Phase::begin;
  Event event{};

  bool operator==(const EventChange&) const = default;
};

/// "begin" or "end". Thread-safe.
VCAP_EXPORT std::string_view to_string(EventChange::Phase phase) noexcept;

}  // namespace vcap
