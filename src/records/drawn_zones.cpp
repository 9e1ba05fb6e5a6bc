// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/drawn_zones.hpp"

namespace vcap {

ZoneSettings drawn_zones(const EventRules& rules) {
  validate(rules);
  ZoneSettings settings{.relative = rules.unit == EventRules::Unit::relative, .counts = false};
  for (const EventZone& zone : rules.zones)
    settings.zones.push_back({.name = zone.name, .outline = zone.polygon});
  for (const EventLine& line : rules.lines)
    settings.lines.push_back({.name = line.name, .from = line.from, .to = line.to});
  return settings;
}

}  // namespace vcap
