// SPDX-License-Identifier: Apache-2.0
#include "algorithms/event_machine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Farther places would not fit into the geometry's numbers.
constexpr double kFarthestNode = 1e9;

/// The zone of a rule; null for a CrossRule.
const std::string* zone_of(const EventRule& rule) {
  return std::visit(
      [](const auto& what) -> const std::string* {
        if constexpr (requires { what.zone; })
          return &what.zone;
        else
          return nullptr;
      },
      rule.what);
}

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

EventDetector::Machine::Machine(EventRules rules, std::uint64_t seed)
    : rules_(std::move(rules)), engine_(seed) {
  validate(rules_);
  index_rules();
}

std::uint32_t EventDetector::Machine::zone_index(const std::string& name) const {
  const auto zone = std::ranges::find(rules_.zones, name, &EventZone::name);
  return static_cast<std::uint32_t>(zone - rules_.zones.begin());  // picture() if it is empty
}

void EventDetector::Machine::index_rules() {
  rules_of_zone_.resize(rules_.zones.size() + 1);
  used_zones_.resize(rules_.zones.size());
  rules_of_line_.resize(rules_.lines.size());
  count_of_rule_.resize(rules_.rules.size());
  for (std::uint32_t i = 0; i < rules_.rules.size(); ++i) {
    const EventRule& rule = rules_.rules[i];
    if (const auto* const cross = std::get_if<CrossRule>(&rule.what)) {
      const auto line = std::ranges::find(rules_.lines, cross->line, &EventLine::name);
      rules_of_line_[static_cast<std::size_t>(line - rules_.lines.begin())].push_back(i);
      continue;
    }
    const std::uint32_t zone = zone_index(*zone_of(rule));
    if (zone < picture()) used_zones_[zone] = true;
    if (std::holds_alternative<AttributeRule>(rule.what)) {
      attribute_rules_.push_back(i);
      continue;  // it needs the visit only, if it has a zone
    }
    rules_of_zone_[zone].push_back(i);
    if (const auto* const count = std::get_if<CountRule>(&rule.what)) {
      count_of_rule_[i] = static_cast<std::uint32_t>(counts_.size());
      counts_.push_back({.rule = i});
      counts_untracked_ = counts_untracked_ || count->untracked;
    }
  }
}

void EventDetector::Machine::check(const Frame& frame, cv::Size resolution) const {
  if (!frame.is_null && resolution.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "EventDetector: the resolution of frame " + std::to_string(frame.index) +
                              " is " + std::to_string(resolution.width) + " × " +
                              std::to_string(resolution.height) + "; give the frame's size");
  if (last_ && frame.discontinuity == Discontinuity::none && frame.pts < last_->pts)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "EventDetector: frame " + std::to_string(frame.index) + " is at " +
                              std::to_string(frame.pts.count()) + " ns, and the frame before at " +
                              std::to_string(last_->pts.count()) +
                              " ns; give frames in order, or the discontinuity between them");
}

/// Fills found_ and untracked_.
void EventDetector::Machine::collect(std::span<const DetectionNode> nodes) {
  for (const DetectionNode& node : nodes) {
    if (!node.children.empty()) collect(node.children);
    if (node.coords.empty() || (!node.track_id && !counts_untracked_)) continue;
    for (const cv::Point2d point : node.coords)
      if (!(std::abs(point.x) <= kFarthestNode && std::abs(point.y) <= kFarthestNode))
        throw InvalidArgument(ErrorCode::invalid_node,
                              "EventDetector: the outline of a node " + quote(node.name) +
                                  " has the point (" + number_text(point.x) + ", " +
                                  number_text(point.y) +
                                  "); coordinates must be finite, within -1e9 to 1e9");
    (node.track_id ? found_ : untracked_).push_back({.node = &node, .box = node.bbox()});
  }
}

std::vector<EventChange> EventDetector::Machine::update(const Frame& frame, cv::Size resolution,
                                                        std::span<const DetectionNode> nodes) {
  found_.clear();
  untracked_.clear();
  check(frame, resolution);
  if (!frame.is_null) collect(nodes);
  changes_.clear();
  pass_discontinuity(frame);
  now_ = {frame.index, frame.pts};
  ++updates_;
  if (!frame.is_null) {
    if (resolution != resolution_) resize(resolution);
    tracks_.find(found_, updates_, rules_.handover);
    for (FoundNode& found : found_) follow(found);
  }
  forget_missed();
  if (!frame.is_null) evaluate_counts();
  last_ = now_;
  return std::exchange(changes_, {});
}

std::vector<EventChange> EventDetector::Machine::finish(EventEnd reason) {
  changes_.clear();
  end_all(reason);
  last_.reset();
  return std::exchange(changes_, {});
}

void EventDetector::Machine::pass_discontinuity(const Frame& frame) {
  if (last_ && frame.discontinuity == Discontinuity::none) return;
  settled_from_ = frame.pts + rules_.grace;
  if (!last_) return;
  const std::chrono::nanoseconds gap = frame.pts - last_->pts;
  const bool is_bridged = (frame.discontinuity == Discontinuity::gap ||
                           frame.discontinuity == Discontinuity::reconnect) &&
                          gap.count() >= 0 && gap <= rules_.max_gap;
  if (is_bridged)
    begin_paths_anew(gap);
  else
    end_all(EventEnd::discontinuity);
}

void EventDetector::Machine::begin_paths_anew(std::chrono::nanoseconds gap) {
  for (EventTrack& track : tracks_.all()) {
    track.begins_anew = true;
    track.kept_from += gap;
    for (ZoneVisit& visit : track.visits) visit.clock += gap;
    for (AttributeValue& attribute : track.attributes) attribute.pending.reset();
  }
  for (Count& count : counts_) count.since.reset();
}

void EventDetector::Machine::resize(cv::Size resolution) {
  if (!resolution_.empty()) {
    begin_paths_anew(std::chrono::nanoseconds(0));
    const double x = static_cast<double>(resolution.width) / resolution_.width;
    const double y = static_cast<double>(resolution.height) / resolution_.height;
    for (EventTrack& track : tracks_.all())
      track.box = {track.box.x1 * x, track.box.y1 * y, track.box.x2 * x, track.box.y2 * y};
  }
  resolution_ = resolution;
  zones_ = ZoneMap(rules_, used_zones_, resolution);
  const cv::Size2d scale =
      rules_.unit == EventRules::Unit::relative ? cv::Size2d(resolution) : cv::Size2d(1, 1);
  lines_.clear();
  for (const EventLine& line : rules_.lines) lines_.emplace_back(line, scale);
}

void EventDetector::Machine::follow(FoundNode& found) {
  EventTrack& track = *found.track;
  leave_zones(found);
  enter_zones(found);
  for (ZoneVisit& visit : track.visits)
    for (RuleUse& one : visit.uses) use(found, visit, one);
  cross_lines(found);
  change_attributes(found);
  if (track.name != found.node->name) track.name = found.node->name;
  track.box = found.box;
  track.last = now_;
  track.kept_from = now_.pts;
  track.begins_anew = false;
  track.is_new = false;
}

void EventDetector::Machine::leave_zones(const FoundNode& found) {
  EventTrack& track = *found.track;
  std::erase_if(track.visits, [&](ZoneVisit& visit) {
    if (visit.zone == picture()) return false;
    const ZoneShape& shape = zones_.shape(visit.zone);
    if (shape.still_contains(point_of(found.box, shape.point()))) return false;
    if (track.begins_anew) {  // nobody saw how it came out
      end_visit(visit, EventEnd::discontinuity, track.last);
      return true;
    }
    end_visit(visit, EventEnd::left, now_);
    for (const RuleUse& one : visit.uses) {
      const EventRule& rule = rules_.rules[one.rule];
      if (std::holds_alternative<LeaveRule>(rule.what) && fits(rule, *found.node))
        add_momentary(event_of(rule, EventKind::leave, found));
    }
    return true;
  });
}

void EventDetector::Machine::enter_zones(const FoundNode& found) {
  const std::vector<ZoneVisit>& visits = found.track->visits;
  zones_.for_each_near(found.box, [&](std::uint32_t zone) {
    if (std::ranges::binary_search(visits, zone, {}, &ZoneVisit::zone)) return;
    const ZoneShape& shape = zones_.shape(zone);
    if (shape.contains(point_of(found.box, shape.point()))) visit(found, zone);
  });
  if (found.track->is_new && !rules_of_zone_.back().empty())
    visit(found, static_cast<std::uint32_t>(picture()));
}

/// Begins a visit, unless the track is in the zone already.
void EventDetector::Machine::visit(const FoundNode& found, std::uint32_t zone) {
  EventTrack& track = *found.track;
  const auto place = std::ranges::lower_bound(track.visits, zone, {}, &ZoneVisit::zone);
  if (place != track.visits.end() && place->zone == zone) return;
  ZoneVisit visit{.zone = zone,
                  .entered = !track.begins_anew,
                  .appeared = track.is_new && now_.pts >= settled_from_,
                  .since = now_,
                  .clock = now_.pts};
  visit.uses.reserve(rules_of_zone_[zone].size());
  for (const std::uint32_t rule : rules_of_zone_[zone]) visit.uses.push_back({.rule = rule});
  track.visits.insert(place, std::move(visit));
}

void EventDetector::Machine::use(const FoundNode& found, ZoneVisit& visit, RuleUse& use) {
  const EventRule& rule = rules_.rules[use.rule];
  if (const auto* const enter = std::get_if<EnterRule>(&rule.what)) {
    if (use.has_begun || !(visit.entered || (enter->appearing && visit.appeared))) return;
    if (!fits(rule, *found.node)) return;
    use.open = begin(event_of(rule, EventKind::enter, found));
    use.has_begun = true;
  } else if (const auto* const stay = std::get_if<StayRule>(&rule.what)) {
    if (use.has_begun) return;
    auto time = stay->at_least.find(found.node->name);
    if (time == stay->at_least.end()) time = stay->at_least.find("*");
    if (time == stay->at_least.end() || now_.pts - visit.clock < time->second) return;
    if (!fits(rule, *found.node)) return;
    Event event = event_of(rule, EventKind::stay, found);
    event.since = visit.since;
    use.open = begin(std::move(event));
    use.has_begun = true;
  } else if (std::holds_alternative<CountRule>(rule.what)) {
    const bool counts = fits(rule, *found.node);
    if (counts != use.is_counted) counts_[count_of_rule_[use.rule]].tracks += counts ? 1 : -1;
    use.is_counted = counts;
  }
}

void EventDetector::Machine::cross_lines(const FoundNode& found) {
  EventTrack& track = *found.track;
  track.lines.resize(lines_.size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (rules_of_line_[i].empty()) continue;
    const cv::Point2d here = point_of(found.box, lines_[i].point());
    if (track.begins_anew) {
      lines_[i].begin(track.lines[i], here);
      continue;
    }
    const cv::Point2d before = point_of(track.box, lines_[i].point());
    const int side = lines_[i].advance(track.lines[i], before, here);
    if (side == 0) continue;
    for (const std::uint32_t index : rules_of_line_[i]) {
      const EventRule& rule = rules_.rules[index];
      const auto wanted = std::get<CrossRule>(rule.what).direction;
      if (wanted == (side > 0 ? CrossRule::Direction::out : CrossRule::Direction::in)) continue;
      if (!fits(rule, *found.node)) continue;
      Event event = event_of(rule, EventKind::cross, found);
      event.direction = side > 0 ? "in" : "out";
      add_momentary(std::move(event));
    }
  }
}

void EventDetector::Machine::change_attributes(const FoundNode& found) {
  EventTrack& track = *found.track;
  track.attributes.resize(attribute_rules_.size());
  for (std::size_t i = 0; i < attribute_rules_.size(); ++i) {
    const EventRule& rule = rules_.rules[attribute_rules_[i]];
    const auto& what = std::get<AttributeRule>(rule.what);
    const auto seen = found.node->attributes.find(what.category);
    if (seen == found.node->attributes.end()) continue;
    AttributeValue& known = track.attributes[i];
    if (!known.value || track.begins_anew) known = {.value = seen->second};
    if (*known.value == seen->second) {
      known.pending.reset();
      continue;
    }
    if (known.pending != seen->second) {
      known.pending = seen->second;
      known.pending_since = now_.pts;
    }
    if (now_.pts - known.pending_since < what.hold) continue;
    const std::string before = *std::exchange(known.value, std::exchange(known.pending, {}));
    if (!what.from.empty() && !contains(what.from, before)) continue;
    if (!what.to.empty() && !contains(what.to, seen->second)) continue;
    if (!what.zone.empty() && std::ranges::find(track.visits, zone_index(what.zone),
                                                &ZoneVisit::zone) == track.visits.end())
      continue;
    if (!fits(rule, *found.node)) continue;
    Event event = event_of(rule, EventKind::attribute, found);
    event.category = what.category;
    event.from = before;
    event.to = seen->second;
    add_momentary(std::move(event));
  }
}

}  // namespace vcap
