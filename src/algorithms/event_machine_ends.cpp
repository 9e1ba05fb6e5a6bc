// SPDX-License-Identifier: Apache-2.0
// How the machine counts, and how its events begin and end.
#include <algorithm>
#include <utility>

#include "algorithms/event_machine.hpp"

namespace vcap {

void EventDetector::Machine::forget_missed() {
  while (tracks_.size() > 0) {
    EventTrack& track = tracks_.all().front();
    if (now_.pts - track.kept_from <= rules_.grace) return;
    for (ZoneVisit& visit : track.visits) end_visit(visit, EventEnd::track_lost, track.last);
    tracks_.forget_first();
  }
}

void EventDetector::Machine::end_all(EventEnd reason) {
  while (tracks_.size() > 0) {
    EventTrack& track = tracks_.all().front();
    for (ZoneVisit& visit : track.visits) end_visit(visit, reason, track.last);
    tracks_.forget_first();
  }
  for (Count& count : counts_) {
    if (count.open) end(std::move(count.open), reason, *last_);
    count.since.reset();
  }
}

void EventDetector::Machine::end_visit(ZoneVisit& visit, EventEnd reason,
                                       const EventMoment& moment) {
  for (RuleUse& use : visit.uses) {
    if (use.is_counted) --counts_[count_of_rule_[use.rule]].tracks;
    use.is_counted = false;
    if (use.open) end(std::move(use.open), reason, moment);
  }
}

void EventDetector::Machine::count_untracked() {
  for (Count& count : counts_) count.untracked = 0;
  if (untracked_.empty()) return;
  for (Count& count : counts_) {
    const EventRule& rule = rules_.rules[count.rule];
    const auto& what = std::get<CountRule>(rule.what);
    if (!what.untracked) continue;
    const std::size_t zone = zone_index(what.zone);
    for (const FoundNode& found : untracked_) {
      if (!fits(rule, *found.node)) continue;
      if (zone < picture()) {
        const ZoneShape& shape = zones_.shape(zone);
        if (!shape.contains(point_of(found.box, shape.point()))) continue;
      }
      ++count.untracked;
    }
  }
}

void EventDetector::Machine::evaluate_counts() {
  count_untracked();
  for (Count& count : counts_) evaluate(count);
}

void EventDetector::Machine::evaluate(Count& count) {
  const EventRule& rule = rules_.rules[count.rule];
  const auto& what = std::get<CountRule>(rule.what);
  const std::int64_t number = count.tracks + count.untracked;
  const std::int64_t slack = count.open ? what.slack : 0;
  const bool is_past =
      what.at_least ? number >= *what.at_least - slack : number <= *what.at_most + slack;
  const bool changes = count.open ? !is_past : is_past && now_.pts >= settled_from_;
  if (!changes) return count.since.reset();
  if (!count.since) count.since = now_;
  if (now_.pts - count.since->pts < what.hold) return;
  const EventMoment since = *std::exchange(count.since, std::nullopt);
  if (count.open) return end(std::move(count.open), EventEnd::over, now_);
  Event event = event_of(rule, EventKind::count);
  event.count = number;
  event.since = since;
  count.open = begin(std::move(event));
}

bool EventDetector::Machine::fits(const EventRule& rule, const DetectionNode& node) const {
  if (!rule.objects.empty() && std::ranges::find(rule.objects, node.name) == rule.objects.end())
    return false;
  for (const auto& [category, values] : rule.attributes) {
    const auto own = node.attributes.find(category);
    if (own == node.attributes.end() || std::ranges::find(values, own->second) == values.end())
      return false;
  }
  return rule.min_confidence == 0 || node.confidence().value_or(1) >= rule.min_confidence;
}

Event EventDetector::Machine::event_of(const EventRule& rule, EventKind kind) const {
  Event event{.kind = kind, .rule = rule.name, .begin = now_};
  std::visit(
      [&event](const auto& what) {
        if constexpr (requires { what.zone; })
          event.zone = what.zone;
        else
          event.line = what.line;
      },
      rule.what);
  return event;
}

Event EventDetector::Machine::event_of(const EventRule& rule, EventKind kind,
                                       const FoundNode& found) const {
  Event event = event_of(rule, kind);
  event.track_id = found.track->id;
  event.object = found.node->name;
  event.bbox = found.box;
  event.confidence = found.node->confidence();
  return event;
}

std::unique_ptr<Event> EventDetector::Machine::begin(Event event) {
  event.id = Uuid::random(engine_);
  auto open = std::make_unique<Event>(std::move(event));
  changes_.push_back({EventChange::Phase::begin, *open});
  ++open_;
  return open;
}

void EventDetector::Machine::end(std::unique_ptr<Event> event, EventEnd reason,
                                 const EventMoment& moment) {
  event->reason = reason;
  event->end = moment;
  changes_.push_back({EventChange::Phase::end, std::move(*event)});
  --open_;
}

void EventDetector::Machine::add_momentary(Event event) {
  end(begin(std::move(event)), EventEnd::momentary, now_);
}

}  // namespace vcap
