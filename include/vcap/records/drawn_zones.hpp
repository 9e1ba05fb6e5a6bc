// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/algorithms/event_rules.hpp"
#include "vcap/base/export.hpp"
#include "vcap/image/zone_annotator.hpp"

namespace vcap {

/// The zones and lines of event rules, as a ZoneAnnotator or make_annotators() draws them. The
/// arrow of a line points to where CrossRule::Direction::in leads. Without counts: which nodes
/// count is for the rules to say. Throws what validate() throws. Thread-safe.
VCAP_EXPORT ZoneSettings drawn_zones(const EventRules& rules);

}  // namespace vcap
