// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// Makes text safe for a line of a terminal: escapes control characters, such as \x1b, which could
/// move the cursor or change the display. Other bytes stay as they are.
VCAP_EXPORT std::string printable(std::string_view text);

/// The text in double quotes, for a message: printable(), with escaped quotes, cut after 120 bytes.
VCAP_EXPORT std::string quote(std::string_view text);

/// The shortest text that reads back as the same number; a whole number keeps its ".0".
VCAP_EXPORT std::string number_text(double value);

/// The message of an exception of any type.
VCAP_EXPORT std::string exception_text(const std::exception_ptr& thrown);

/// `"a", "b", "c"` for any range of texts; `(none)` for an empty one.
template <class Range>
std::string quote_list(const Range& texts) {
  std::string list;
  for (const std::string_view text : texts) {
    if (!list.empty()) list += ", ";
    list += quote(text);
  }
  return list.empty() ? "(none)" : list;
}

/// How many characters must be inserted, removed or replaced to turn `a` into `b` (Levenshtein).
VCAP_EXPORT std::size_t edit_distance(std::string_view a, std::string_view b);

/// `; did you mean "threshold"?` with the text that is closest to `wrong`; empty if no text is
/// close.
template <class Range>
std::string suggestion(std::string_view wrong, const Range& texts) {
  if (wrong.size() > 64) return {};  // not a name; comparing would only take time
  std::string_view nearest;
  std::size_t least = wrong.size() / 3 + 2;  // a typo or two; more is another word
  for (const std::string_view text : texts) {
    if (text.size() > wrong.size() + least) continue;
    const std::size_t distance = edit_distance(wrong, text);
    if (distance >= least || distance >= text.size()) continue;
    least = distance;
    nearest = text;
  }
  return nearest.empty() ? std::string() : "; did you mean " + quote(nearest) + "?";
}

}  // namespace vcap
