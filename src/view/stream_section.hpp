// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "view/event_table.hpp"
#include "view/page_parts.hpp"
#include "view/stream_summary.hpp"

namespace vcap {

/// The part of a report about one stream, as HTML. `events`: the
/// folders of its events' files. Throws SourceError if its clip cannot be read. Thread-safe.
std::string stream_section(const std::string& stream, const StreamSummary& summary,
                           const StreamClip& clip, EventLinks events = {});

}  // namespace vcap
