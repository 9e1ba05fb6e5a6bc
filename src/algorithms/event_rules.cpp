// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/event_rules.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "algorithms/orientation.hpp"
#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMostItems = 1000;  // zones, lines, rules, and points of a zone
/// Places and lengths in pixels. Larger ones are no places of a picture, and their squares might
/// not be finite.
constexpr double kFarthestPoint = 1e9;
constexpr nanoseconds kLongestTime = std::chrono::hours(24 * 366);

/// Complains about one zone, line or rule.
class Complaint {
 public:
  explicit Complaint(std::string what) : what_(std::move(what)) {}

  [[noreturn]] void operator()(const std::string& text) const {
    throw InvalidArgument(ErrorCode::invalid_argument, what_ + ": " + text);
  }
  void check_number(const char* field, double value, double least, double most) const {
    if (value >= least && value <= most) return;
    (*this)(std::string(field) + " is " + number_text(value) + "; it must be within " +
            number_text(least) + " to " + number_text(most));
  }
  void check_time(const char* field, nanoseconds value, nanoseconds least) const {
    if (value >= least && value <= kLongestTime) return;
    const auto seconds = [](nanoseconds time) {
      return number_text(std::chrono::duration<double>(time).count()) + " s";
    };
    (*this)(std::string(field) + " is " + seconds(value) + "; it must be " +
            (least.count() == 0 ? "0 s" : "above 0 s") + " and at most " + seconds(kLongestTime));
  }
  void check_count(const char* field, std::int64_t value, std::int64_t least) const {
    constexpr std::int64_t most = 1'000'000;
    if (value >= least && value <= most) return;
    (*this)(std::string(field) + " is " + std::to_string(value) + "; it must be within " +
            std::to_string(least) + " to " + std::to_string(most));
  }
  /// Checks the points of a field, which has at least one.
  void check_points(const char* field, const Coords& points, EventRules::Unit unit) const {
    const bool is_relative = unit == EventRules::Unit::relative;
    const double least = is_relative ? 0 : -kFarthestPoint, most = is_relative ? 1 : kFarthestPoint;
    const auto is_within = [](double value, double from, double to) {
      return value >= from && value <= to;
    };
    bool is_tiny = true;
    for (const cv::Point2d point : points) {
      if (!is_within(point.x, least, most) || !is_within(point.y, least, most))
        (*this)(std::string(field) + " has the point (" + number_text(point.x) + ", " +
                number_text(point.y) + "); its coordinates must be within " +
                (is_relative ? "0 to 1, because unit is relative; for pixels, set unit to pixels"
                             : "-1e9 to 1e9"));
      is_tiny = is_tiny && is_within(point.x, 0, 1) && is_within(point.y, 0, 1);
    }
    if (is_tiny && !is_relative)
      (*this)(std::string(field) +
              ": all within a single pixel, because unit is pixels; for coordinates of 0 to 1, set "
              "unit to relative");
  }

 private:
  std::string what_;
};

/// The names of zones, lines or rules, which must differ.
template <class Item>
std::vector<std::string> names_of(const std::vector<Item>& items, const char* kind) {
  if (items.size() > kMostItems)
    Complaint("event rules")("there are " + std::to_string(items.size()) + ' ' + kind +
                             "s; there may be " + std::to_string(kMostItems));
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string& name = items[i].name;
    if (name.empty())
      Complaint("event " + std::string(kind) + ' ' +
                std::to_string(i))("its name is empty; give it one, which no other has");
    if (find_invalid_utf8(name) != name.npos)
      Complaint("event " + std::string(kind) + ' ' + quote(name))("its name is not UTF-8");
    if (!seen.insert(name).second)
      Complaint("event " + std::string(kind) + ' ' +
                quote(name))("another has the same name; give each its own");
    names.push_back(name);
  }
  return names;
}

void check_zone(const EventZone& zone, EventRules::Unit unit) {
  const Complaint complain("event zone " + quote(zone.name));
  const std::size_t points = zone.polygon.size();
  if (points < 3 || points > kMostItems)
    complain("polygon has " + counted(points, "point") + "; it must have 3 to " +
             std::to_string(kMostItems));
  complain.check_points("polygon", zone.polygon, unit);
  const bool has_area = std::ranges::any_of(zone.polygon, [&](cv::Point2d point) {
    const cv::Point2d second =
        *std::ranges::find_if_not(zone.polygon.begin() + 1, zone.polygon.end() - 1,
                                  [&](cv::Point2d other) { return other == zone.polygon.front(); });
    return orientation(zone.polygon.front(), second, point) != 0;
  });
  if (!has_area)
    complain(
        "polygon has all its points on one line, so nothing is inside; give three corners "
        "that are not on one line");
  complain.check_number("hysteresis", zone.hysteresis, 0, kFarthestPoint);
}

void check_line(const EventLine& line, EventRules::Unit unit) {
  const Complaint complain("event line " + quote(line.name));
  if (line.from == line.to)
    complain("from and to are the same point, (" + number_text(line.from.x) + ", " +
             number_text(line.from.y) + "); give two points");
  complain.check_points("from and to", {line.from, line.to}, unit);
  complain.check_number("hysteresis", line.hysteresis, 0, kFarthestPoint);
}

/// Checks the fields of one rule.
class RuleCheck {
 public:
  RuleCheck(const EventRule& rule, const std::vector<std::string>& zones,
            const std::vector<std::string>& lines)
      : rule_(rule), zones_(zones), lines_(lines), complain_("event rule " + quote(rule.name)) {}

  void check() const {
    complain_.check_number("min_confidence", rule_.min_confidence, 0, 1);
    for (const auto& [category, values] : rule_.attributes)
      if (values.empty())
        complain_("attributes has no values for " + quote(category) +
                  ", so no node fits; list the values that fit");
    std::visit([this](const auto& what) { check(what); }, rule_.what);
  }

 private:
  void check_name(const char* field, const std::string& name, const std::vector<std::string>& known,
                  const char* kind) const {
    if (std::ranges::find(known, name) != known.end()) return;
    complain_(std::string(field) + " is " + quote(name) + ", and there is no such " + kind +
              suggestion(name, known) + "; the " + kind + "s are " + quote_list(known));
  }
  void check_zone_of(const std::string& zone, bool may_be_empty) const {
    if (!zone.empty()) return check_name("zone", zone, zones_, "zone");
    if (!may_be_empty) complain_("zone is missing; give the name of a zone");
  }
  void check(const EnterRule& what) const { check_zone_of(what.zone, false); }
  void check(const LeaveRule& what) const { check_zone_of(what.zone, false); }
  void check(const StayRule& what) const {
    check_zone_of(what.zone, true);
    if (what.at_least.empty())
      complain_("at_least is empty; give the seconds to stay, or seconds by the name of nodes");
    for (const auto& [object, time] : what.at_least)
      complain_.check_time("at_least", time, nanoseconds(1));
  }
  void check(const CrossRule& what) const {
    if (what.line.empty()) complain_("line is missing; give the name of a line");
    check_name("line", what.line, lines_, "line");
  }
  void check(const CountRule& what) const {
    check_zone_of(what.zone, true);
    if (what.at_least.has_value() == what.at_most.has_value())
      complain_("exactly one of at_least and at_most is needed");
    if (what.at_least) complain_.check_count("at_least", *what.at_least, 1);
    if (what.at_most) complain_.check_count("at_most", *what.at_most, 0);
    complain_.check_count("slack", what.slack, 0);
    if (what.at_least && what.slack >= *what.at_least)
      complain_("slack is " + std::to_string(what.slack) + ", and at_least is " +
                std::to_string(*what.at_least) +
                ", so it would never end; slack must be less than at_least");
    complain_.check_time("hold", what.hold, nanoseconds(0));
  }
  void check(const AttributeRule& what) const {
    check_zone_of(what.zone, true);
    if (what.category.empty())
      complain_("category is missing; give the category of the attribute that changes");
    complain_.check_time("hold", what.hold, nanoseconds(0));
    if (what.from.size() == 1 && what.from == what.to)
      complain_("from and to are both " + quote(what.from.front()) +
                ", which is no change; give two values, or leave one out");
  }

  const EventRule& rule_;
  const std::vector<std::string>& zones_;
  const std::vector<std::string>& lines_;
  const Complaint complain_;
};

}  // namespace

void validate(const EventRules& rules) {
  const Complaint complain("event rules");
  complain.check_time("grace", rules.grace, nanoseconds(0));
  complain.check_time("max_gap", rules.max_gap, nanoseconds(0));
  complain.check_number("handover", rules.handover, 0, 100);
  const std::vector<std::string> zones = names_of(rules.zones, "zone");
  const std::vector<std::string> lines = names_of(rules.lines, "line");
  names_of(rules.rules, "rule");
  for (const EventZone& zone : rules.zones) check_zone(zone, rules.unit);
  for (const EventLine& line : rules.lines) check_line(line, rules.unit);
  for (const EventRule& rule : rules.rules) RuleCheck(rule, zones, lines).check();
}

}  // namespace vcap
