// SPDX-License-Identifier: Apache-2.0
#include "cli/given_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "vcap/records/drawn_zones.hpp"
#include "vcap/records/event_sink.hpp"

namespace vcap::cli {
namespace {

constexpr std::string_view kZones = "zones";

/// The part of the text before the separator, which is cut off with it.
std::string_view cut_to(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// Calls `action` with what is after the colon of each part "zones".
template <class Action>
void for_each_zones_part(std::string_view list, const Action& action) {
  while (!list.empty()) {
    std::string_view names = cut_to(list, ',');
    if (cut_to(names, ':') == kZones) action(names);
  }
}

/// What exists as a whole is a path, also with a "=" in it.
void read_one(const std::string& text, const std::vector<std::string>& streams, GivenRules& rules) {
  std::error_code unknown;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || std::filesystem::exists(text, unknown)) {
    if (rules.for_all)
      throw UsageError("--events " + text +
                       ": there are rules for all streams already; give one file for all, and one "
                       "for each stream that has its own, as STREAM=PATH");
    rules.for_all = read_event_rules(text);
    return;
  }
  const std::string stream = text.substr(0, equals);
  if (std::ranges::find(streams, stream) == streams.end())
    throw UsageError("--events " + text + ": there is no stream " + quote(stream) +
                     suggestion(stream, streams) + "; the streams are " + quote_list(streams));
  if (!rules.of_stream.emplace(stream, read_event_rules(text.substr(equals + 1))).second)
    throw UsageError("--events " + text + ": the stream has rules already; give one file for it");
}

/// The names of all zones and lines.
std::vector<std::string> names_in(const GivenRules& rules) {
  std::set<std::string> names;
  const auto add = [&names](const EventRules& some) {
    for (const EventZone& zone : some.zones) names.insert(zone.name);
    for (const EventLine& line : some.lines) names.insert(line.name);
  };
  if (rules.for_all) add(*rules.for_all);
  for (const auto& [stream, own] : rules.of_stream) add(own);
  return {names.begin(), names.end()};
}

}  // namespace

ZoneSettings GivenRules::zones_of(const std::string& stream) const {
  const auto own = of_stream.find(stream);
  if (own != of_stream.end()) return drawn_zones(own->second);
  return for_all ? drawn_zones(*for_all) : ZoneSettings{};
}

GivenRules read_rules(const std::vector<std::string>& values,
                      const std::vector<std::string>& streams) {
  GivenRules rules;
  for (const std::string& text : values) read_one(text, streams, rules);
  return rules;
}

bool draws_zones(std::string_view list) {
  bool found = false;
  for_each_zones_part(list, [&found](std::string_view) { found = true; });
  return found;
}

void check_drawn_zones(std::string_view list, const GivenRules& rules) {
  const std::vector<std::string> known = names_in(rules);
  for_each_zones_part(list, [&known](std::string_view names) {
    while (!names.empty()) {
      const std::string name(cut_to(names, '+'));
      if (std::ranges::find(known, name) != known.end()) continue;
      throw UsageError("--draw zones:" + name + ": the rules of --events have no zone or line " +
                       quote(name) + suggestion(name, known) +
                       (known.empty() ? "" : "; they have " + quote_list(known)));
    }
  });
}

}  // namespace vcap::cli
