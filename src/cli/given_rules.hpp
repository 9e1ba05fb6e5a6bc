// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/algorithms/event_rules.hpp"
#include "vcap/image/zone_annotator.hpp"

namespace vcap::cli {

/// The rules of --events: those of single streams, and those for all others.
struct GivenRules {
  std::optional<EventRules> for_all{};
  std::map<std::string, EventRules> of_stream{};

  /// What to draw on the frames of a stream; nothing if it has no rules.
  ZoneSettings zones_of(const std::string& stream) const;
};

/// Reads the values of --events, each "[STREAM=]PATH". Throws UsageError, and what
/// read_event_rules() throws.
GivenRules read_rules(const std::vector<std::string>& values,
                      const std::vector<std::string>& streams);

/// Whether the list of --draw has the part "zones".
bool draws_zones(std::string_view list);

/// Throws UsageError if the list of --draw names a zone or line that no rules have.
void check_drawn_zones(std::string_view list, const GivenRules& rules);

}  // namespace vcap::cli
