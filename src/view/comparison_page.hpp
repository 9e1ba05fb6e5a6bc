// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "vcap/view/comparison.hpp"
#include "view/difference_table.hpp"
#include "view/differing_frames.hpp"
#include "view/page_parts.hpp"
#include "view/stream_comparison.hpp"

namespace vcap {

/// What the page of a comparison shows. Borrows. Thread safety: value.
struct ComparisonPage {
  const ComparisonOptions& options;
  const ComparisonTotals& totals;
  ComparisonVerdict verdict;
  const std::map<std::string, StreamComparison>& streams;  ///< by stream and group
  const DifferenceTable& table;
  const DifferingFrames& frames;
  const std::map<std::string, StreamClip>& clips;  ///< by stream, without the group
};

/// The page as HTML. Throws SourceError if a clip cannot be read. Thread-safe.
std::string comparison_page(const ComparisonPage& page);

}  // namespace vcap
