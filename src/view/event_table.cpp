// SPDX-License-Identifier: Apache-2.0
#include "view/event_table.hpp"

#include <algorithm>

#include "view/page_parts.hpp"

namespace vcap {
namespace {

/// Names come from rules, but a journal may hold anything.
void shorten(std::string& text) {
  if (text.size() > kLongestKept) text = shortened(text);
}

void shorten_texts(Event& event) {
  for (std::string* text : {&event.rule, &event.zone, &event.line, &event.object, &event.direction,
                            &event.category, &event.from, &event.to})
    shorten(*text);
}

/// The time of `stay` and `count` begins before the event.
std::chrono::nanoseconds dwell_of(const Event& event) {
  const std::chrono::nanoseconds from = event.since ? event.since->pts : event.begin.pts;
  return event.end->pts - from;
}

bool lasts(const Event& event) {
  return event.end && event.reason && *event.reason != EventEnd::momentary;
}

}  // namespace

EventTable::Count* EventTable::count_of(const Event& event) {
  const std::string change = event.kind == EventKind::attribute
                                 ? event.category + ": " + event.from + " → " + event.to
                                 : event.direction;
  const Key key(event.rule, event.kind, event.line.empty() ? event.zone : event.line, change,
                event.object);
  if (const auto known = counts_.find(key); known != counts_.end()) return &known->second;
  return counts_.size() < kMostKinds ? &counts_[key] : nullptr;
}

void EventTable::add(const EventRecord& record) {
  EventRecord own = record;
  shorten_texts(own.event);
  for (std::string* name : {&own.snapshot, &own.clip})
    if (name->size() > kLongestKept || name->find('/') != std::string::npos) name->clear();
  if (own.phase == EventChange::Phase::begin)
    begin(own);
  else
    finish(own);
}

void EventTable::begin(const EventRecord& record) {
  ++events_;
  end_ = std::max(end_, record.event.begin.pts);
  Count* const count = count_of(record.event);
  if (count != nullptr) {
    ++count->events;
    ++count->open;
  } else {
    ++other_kinds_;
  }
  const bool is_kept = kept_.size() < kMostEvents;
  if (is_kept) kept_.push_back(record);
  if (open_.size() < kMostOpen)
    open_.insert_or_assign(record.event.id, is_kept ? kept_.size() - 1 : kMostEvents);
}

void EventTable::finish(const EventRecord& record) {
  const auto known = open_.find(record.event.id);
  if (known == open_.end() && open_.size() < kMostOpen) begin(record);  // its begin is missing
  if (record.event.end) end_ = std::max(end_, record.event.end->pts);
  if (const auto place = open_.find(record.event.id); place != open_.end()) {
    if (place->second < kMostEvents) kept_[place->second] = record;
    open_.erase(place);
  }
  Count* const count = count_of(record.event);
  if (count == nullptr) return;
  count->open = std::max<std::int64_t>(count->open - 1, 0);
  if (!lasts(record.event)) return;
  const auto dwell = std::chrono::duration_cast<std::chrono::milliseconds>(dwell_of(record.event));
  count->dwell_ms.add(static_cast<std::uint64_t>(std::max<std::int64_t>(dwell.count(), 0)));
}

}  // namespace vcap
