// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/algorithms/event.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// The begin or the end of an event of a stream: one line of an event journal. Thread safety:
/// value.
struct EventRecord {
  std::string stream_id{};
  EventChange::Phase phase = EventChange::Phase::begin;
  Event event{};
  std::string snapshot{};  ///< the file name of the picture of the begin; empty: there is none
  /// The file name of the clip; empty: there is none, or not yet. Several events may have the same
  /// clip. In a begin, it is still being written, as NAME.part; in an end, an encoded one may be,
  /// up to the end of the post-roll (EventClipSettings).
  std::string clip{};
  std::optional<std::chrono::nanoseconds> clip_start{};  ///< the pts of the clip's first picture
  /// Whether the clip lacks a part of what was wanted of it: beyond the longest clip, a pre-roll
  /// that did not fit into memory, or what a killed process or a full disk did not write.
  bool clip_cut = false;

  bool operator==(const EventRecord&) const = default;
};

/// Schema "vcap.event/1" (docs/records.md): one object, without absent fields. from_json ignores
/// unknown fields. It throws InvalidArgument (invalid_json) with the JSON pointer of the fault,
/// such as an end without a reason.
VCAP_EXPORT void to_json(nlohmann::json& json, const EventRecord& record);
VCAP_EXPORT void from_json(const nlohmann::json& json, EventRecord& record);

/// What a journal of events has. Thread safety: value.
struct VCAP_EXPORT EventJournal {
  std::vector<EventRecord> records{};  ///< in the order of the lines
  /// The numbers of lines, from 1, that are no event records. A power cut or a full disk may leave
  /// some; a process that is killed leaves none but the last.
  std::vector<std::size_t> damaged_lines{};
  bool is_torn = false;  ///< the last line lacks its newline; it is not in `records`

  /// The begins of events that have no end yet, in their order.
  std::vector<EventRecord> open() const;
};

/// Reads a journal, which may be written to meanwhile. Throws InvalidArgument (invalid_argument) if
/// the file cannot be read. Thread-safe.
VCAP_EXPORT EventJournal read_event_journal(const std::string& path);

}  // namespace vcap
