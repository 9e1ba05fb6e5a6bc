// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "view/stream_summary.hpp"

namespace vcap {

/// The clip of a stream. Thread safety: value.
struct StreamClip {
  std::string file{};  ///< to read it; empty: there is none
  std::string link{};  ///< as seen from the report
};

/// The part of a report about one stream, as HTML. Throws SourceError if its clip cannot be read.
/// Thread-safe.
std::string stream_section(const std::string& stream, const StreamSummary& summary,
                           const StreamClip& clip);

/// A clip as a link shows it: a URL of http(s) as it is, any other text as a file's path.
std::string link_to(const std::string& clip);

}  // namespace vcap
