// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/json_view.hpp"
#include "vcap/algorithms/event.hpp"
#include "vcap/algorithms/event_rules.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

constexpr std::string_view kSchema = "vcap.event-rules/1";

template <class Value, std::size_t Size>
using Words = std::array<std::pair<std::string_view, Value>, Size>;

constexpr Words<BoxPoint, 7> kPoints{{{"bottom_centre", BoxPoint::bottom_centre},
                                      {"centre", BoxPoint::centre},
                                      {"top_centre", BoxPoint::top_centre},
                                      {"bottom_left", BoxPoint::bottom_left},
                                      {"bottom_right", BoxPoint::bottom_right},
                                      {"top_left", BoxPoint::top_left},
                                      {"top_right", BoxPoint::top_right}}};
constexpr Words<EventRules::Unit, 2> kUnits{
    {{"pixels", EventRules::Unit::pixels}, {"relative", EventRules::Unit::relative}}};
constexpr Words<CrossRule::Direction, 3> kDirections{{{"both", CrossRule::Direction::both},
                                                      {"in", CrossRule::Direction::in},
                                                      {"out", CrossRule::Direction::out}}};
constexpr Words<EventKind, 6> kKinds{{{"enter", EventKind::enter},
                                      {"leave", EventKind::leave},
                                      {"stay", EventKind::stay},
                                      {"cross", EventKind::cross},
                                      {"count", EventKind::count},
                                      {"attribute", EventKind::attribute}}};

template <class Value, std::size_t Size>
Value read_word(const JsonView& json, const Words<Value, Size>& words) {
  std::vector<std::string_view> known;
  for (const auto& [word, value] : words) {
    if (json.value().is_string() && json.text() == word) return value;
    known.push_back(word);
  }
  json.fail("one of " + quote_list(known));
}

template <class Value, std::size_t Size>
std::string_view word_of(Value wanted, const Words<Value, Size>& words) {
  for (const auto& [word, value] : words)
    if (value == wanted) return word;
  return {};
}

nanoseconds read_seconds(const JsonView& json) {
  const double seconds = json.number();
  constexpr double kMostSeconds =
      1e9;  // fits into 64 bits; validate() has the bounds of each field
  if (!(std::abs(seconds) <= kMostSeconds)) json.fail("a number of seconds, at most 1e9,");
  return nanoseconds(std::llround(seconds * 1e9));
}

double json_seconds(nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

cv::Point2d read_point(const JsonView& json) {
  const std::vector<JsonView> numbers = json.elements();
  if (numbers.size() != 2) json.fail("a point [x, y]");
  return {numbers[0].number(), numbers[1].number()};
}

nlohmann::json point_json(cv::Point2d point) { return {point.x, point.y}; }

// Each sets a field if the JSON has it; a field without a default is read by json["…"].

void read(const JsonView& json, const char* key, std::string& text) {
  if (const auto field = json.find(key)) text = field->text();
}
void read(const JsonView& json, const char* key, bool& flag) {
  if (const auto field = json.find(key)) flag = field->boolean();
}
void read(const JsonView& json, const char* key, double& number) {
  if (const auto field = json.find(key)) number = field->number();
}
void read(const JsonView& json, const char* key, std::int64_t& number) {
  if (const auto field = json.find(key)) number = field->integer();
}
void read(const JsonView& json, const char* key, std::optional<std::int64_t>& number) {
  if (const auto field = json.find(key)) number = field->integer();
}
void read(const JsonView& json, const char* key, nanoseconds& time) {
  if (const auto field = json.find(key)) time = read_seconds(*field);
}
void read(const JsonView& json, const char* key, std::vector<std::string>& texts) {
  if (const auto field = json.find(key)) texts = field->texts();
}
void read(const JsonView& json, const char* key, BoxPoint& point) {
  if (const auto field = json.find(key)) point = read_word(*field, kPoints);
}

EventZone read_zone(const JsonView& json) {
  json.allow_fields({"name", "polygon", "point", "hysteresis"});
  EventZone zone{.name = json["name"].text()};
  for (const JsonView& point : json["polygon"].elements())
    zone.polygon.push_back(read_point(point));
  read(json, "point", zone.point);
  read(json, "hysteresis", zone.hysteresis);
  return zone;
}

EventLine read_line(const JsonView& json) {
  json.allow_fields({"name", "from", "to", "point", "hysteresis"});
  EventLine line{
      .name = json["name"].text(), .from = read_point(json["from"]), .to = read_point(json["to"])};
  read(json, "point", line.point);
  read(json, "hysteresis", line.hysteresis);
  return line;
}

StayRule read_stay(const JsonView& json) {
  StayRule stay;
  read(json, "zone", stay.zone);
  const JsonView at_least = json["at_least"];
  if (at_least.value().is_number()) {
    stay.at_least.emplace("*", read_seconds(at_least));
  } else if (at_least.value().is_object()) {
    for (const auto& [object, time] : at_least.fields())
      stay.at_least.emplace(object, read_seconds(time));
  } else {
    at_least.fail("a number of seconds, or an object of them by the name of nodes,");
  }
  return stay;
}

CountRule read_count(const JsonView& json) {
  CountRule count;
  read(json, "zone", count.zone);
  read(json, "at_least", count.at_least);
  read(json, "at_most", count.at_most);
  read(json, "slack", count.slack);
  read(json, "hold", count.hold);
  read(json, "untracked", count.untracked);
  return count;
}

AttributeRule read_attribute(const JsonView& json) {
  AttributeRule attribute{.category = json["category"].text()};
  read(json, "zone", attribute.zone);
  read(json, "from", attribute.from);
  read(json, "to", attribute.to);
  read(json, "hold", attribute.hold);
  return attribute;
}

/// The fields that the kind has beside those of all rules.
decltype(EventRule::what) read_what(const JsonView& json, EventKind kind) {
  const auto allow = [&json](auto... fields) {
    json.allow_fields({"name", "kind", "objects", "attributes", "min_confidence", fields...});
  };
  switch (kind) {
    case EventKind::enter: {
      allow("zone", "appearing");
      EnterRule enter{.zone = json["zone"].text()};
      read(json, "appearing", enter.appearing);
      return enter;
    }
    case EventKind::leave:
      allow("zone");
      return LeaveRule{.zone = json["zone"].text()};
    case EventKind::stay:
      allow("zone", "at_least");
      return read_stay(json);
    case EventKind::cross: {
      allow("line", "direction");
      CrossRule cross{.line = json["line"].text()};
      if (const auto direction = json.find("direction"))
        cross.direction = read_word(*direction, kDirections);
      return cross;
    }
    case EventKind::count:
      allow("zone", "at_least", "at_most", "slack", "hold", "untracked");
      return read_count(json);
    case EventKind::attribute:
      break;
  }
  allow("zone", "category", "from", "to", "hold");
  return read_attribute(json);
}

EventRule read_rule(const JsonView& json) {
  EventRule rule{.name = json["name"].text()};
  rule.what = read_what(json, read_word(json["kind"], kKinds));
  read(json, "objects", rule.objects);
  read(json, "min_confidence", rule.min_confidence);
  if (const auto attributes = json.find("attributes"))
    for (const auto& [category, values] : attributes->fields())
      rule.attributes.emplace(category, values.texts());
  return rule;
}

/// Reads a named thing of a list; a complaint then also names it.
template <class Read>
auto read_named(const JsonView& json, const char* kind, Read read_one) {
  const auto name = json.value().is_object() ? json.find("name") : std::nullopt;
  if (!name || !name->value().is_string()) return read_one(json);
  try {
    return read_one(json);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(error.code(), "event " + std::string(kind) + ' ' + quote(name->text()) +
                                            " at " + error.what());
  }
}

/// Adds fields of rules that differ from their defaults.
class RuleWriter {
 public:
  RuleWriter(nlohmann::json& json) : json_(json) {}

  void operator()(const EnterRule& what) {
    add("zone", what.zone, {});
    add("appearing", what.appearing, false);
  }
  void operator()(const LeaveRule& what) { add("zone", what.zone, {}); }
  void operator()(const StayRule& what) {
    add("zone", what.zone, {});
    if (what.at_least.size() == 1 && what.at_least.begin()->first == "*") {
      json_["at_least"] = json_seconds(what.at_least.begin()->second);
      return;
    }
    json_["at_least"] = nlohmann::json::object();
    for (const auto& [object, time] : what.at_least) json_["at_least"][object] = json_seconds(time);
  }
  void operator()(const CrossRule& what) {
    add("line", what.line, {});
    if (what.direction != CrossRule::Direction::both)
      json_["direction"] = word_of(what.direction, kDirections);
  }
  void operator()(const CountRule& what) {
    add("zone", what.zone, {});
    if (what.at_least) json_["at_least"] = *what.at_least;
    if (what.at_most) json_["at_most"] = *what.at_most;
    add("slack", what.slack, std::int64_t{0});
    add("hold", json_seconds(what.hold), 0.0);
    add("untracked", what.untracked, false);
  }
  void operator()(const AttributeRule& what) {
    add("zone", what.zone, {});
    json_["category"] = what.category;
    add("from", what.from, {});
    add("to", what.to, {});
    add("hold", json_seconds(what.hold), 0.0);
  }
  template <class Value>
  void add(const char* key, const Value& value, const Value& usual) {
    if (value != usual) json_[key] = value;
  }

 private:
  nlohmann::json& json_;
};

nlohmann::json rule_json(const EventRule& rule) {
  nlohmann::json json = {{"name", rule.name}, {"kind", kKinds.at(rule.what.index()).first}};
  RuleWriter writer(json);
  writer.add("objects", rule.objects, {});
  writer.add("attributes", rule.attributes, {});
  writer.add("min_confidence", rule.min_confidence, 0.0);
  std::visit(writer, rule.what);
  return json;
}

}  // namespace

void to_json(nlohmann::json& json, const EventRules& rules) {
  json = {{"schema", kSchema},
          {"unit", word_of(rules.unit, kUnits)},
          {"grace", json_seconds(rules.grace)},
          {"max_gap", json_seconds(rules.max_gap)},
          {"handover", rules.handover},
          {"zones", nlohmann::json::array()},
          {"lines", nlohmann::json::array()},
          {"rules", nlohmann::json::array()}};
  for (const EventZone& zone : rules.zones) {
    nlohmann::json& one = json["zones"].emplace_back(
        nlohmann::json{{"name", zone.name}, {"polygon", nlohmann::json::array()}});
    for (const cv::Point2d point : zone.polygon) one["polygon"].push_back(point_json(point));
    one["point"] = word_of(zone.point, kPoints);
    one["hysteresis"] = zone.hysteresis;
  }
  for (const EventLine& line : rules.lines)
    json["lines"].push_back(nlohmann::json{{"name", line.name},
                                           {"from", point_json(line.from)},
                                           {"to", point_json(line.to)},
                                           {"point", word_of(line.point, kPoints)},
                                           {"hysteresis", line.hysteresis}});
  for (const EventRule& rule : rules.rules) json["rules"].push_back(rule_json(rule));
}

void from_json(const nlohmann::json& json, EventRules& rules) {
  const JsonView root(json);
  root.allow_fields({"schema", "unit", "grace", "max_gap", "handover", "zones", "lines", "rules"});
  if (root["schema"].value() != kSchema) root["schema"].fail(quote(kSchema));
  EventRules result;
  if (const auto unit = root.find("unit")) result.unit = read_word(*unit, kUnits);
  read(root, "grace", result.grace);
  read(root, "max_gap", result.max_gap);
  read(root, "handover", result.handover);
  if (const auto zones = root.find("zones"))
    for (const JsonView& zone : zones->elements())
      result.zones.push_back(read_named(zone, "zone", read_zone));
  if (const auto lines = root.find("lines"))
    for (const JsonView& line : lines->elements())
      result.lines.push_back(read_named(line, "line", read_line));
  for (const JsonView& rule : root["rules"].elements())
    result.rules.push_back(read_named(rule, "rule", read_rule));
  validate(result);
  rules = std::move(result);
}

}  // namespace vcap
