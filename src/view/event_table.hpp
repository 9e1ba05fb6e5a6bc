// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "vcap/base/histogram.hpp"
#include "vcap/records/event_record.hpp"

namespace vcap {

/// The events of a stream, in bounded memory. Thread safety: value.
class EventTable {
 public:
  static constexpr std::size_t kMostEvents = 500;   ///< that are kept, the first ones
  static constexpr std::size_t kMostKinds = 200;    ///< that are counted apart
  static constexpr std::size_t kMostOpen = 50'000;  ///< whose end is awaited

  /// What events are counted by: rule, kind, zone or line, direction or change, name of the object.
  using Key = std::tuple<std::string, EventKind, std::string, std::string, std::string>;
  struct Count {
    std::int64_t events = 0;
    std::int64_t open = 0;  ///< of these, without an end so far
    Histogram dwell_ms{};   ///< of those that have ended and last; from when the track was inside
  };

  /// In the order of a journal.
  void add(const EventRecord& record);

  std::int64_t events() const noexcept { return events_; }
  bool empty() const noexcept { return events_ == 0; }
  /// In the order of their begins.
  const std::vector<EventRecord>& kept() const noexcept { return kept_; }
  const std::map<Key, Count>& counts() const noexcept { return counts_; }
  std::int64_t other_kinds() const noexcept { return other_kinds_; }  ///< events beyond kMostKinds
  std::chrono::nanoseconds end() const noexcept { return end_; }      ///< of the last one

 private:
  Count* count_of(const Event& event);
  void begin(const EventRecord& record);
  void finish(const EventRecord& record);

  std::int64_t events_ = 0;
  std::vector<EventRecord> kept_;
  /// Of those that are open: the index in `kept_`, or kMostEvents if it is not kept.
  std::unordered_map<Uuid, std::size_t> open_;
  std::map<Key, Count> counts_;
  std::int64_t other_kinds_ = 0;
  std::chrono::nanoseconds end_{0};
};

/// What the events of a stream link to, as seen from the page; each may be empty. Thread safety:
/// value.
struct EventLinks {
  std::string clip{};         ///< of the stream
  std::string snapshots{};    ///< the folder of the events' pictures
  std::string event_clips{};  ///< the folder of the events' clips
};

/// The events of a stream as HTML: counts with dwell times, a timeline and a table. `begin`, `end`:
/// of the stream. Thread-safe.
std::string event_section(const EventTable& events, std::chrono::nanoseconds begin,
                          std::chrono::nanoseconds end, const EventLinks& links);

}  // namespace vcap
