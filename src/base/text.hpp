// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// Makes text safe for a line of a terminal: escapes control characters, such as \x1b, which could
/// move the cursor or change the display. Other bytes stay as they are.
VCAP_EXPORT std::string printable(std::string_view text);

/// The text with U+FFFD in place of bytes that are not valid UTF-8, for JSON and other formats that
/// allow no such bytes.
VCAP_EXPORT std::string valid_utf8(const std::string& text);

/// The text for XML and HTML, within an element or a quoted attribute: markup is escaped.
/// Characters that XML 1.0 does not allow, such as most control characters, become U+FFFD.
VCAP_EXPORT std::string xml_text(std::string_view text);

/// The text in double quotes, for a message: printable(), with escaped quotes, cut after 120 bytes.
VCAP_EXPORT std::string quote(std::string_view text);

/// A text that reads back as the same number, with as few digits as possible; a whole number keeps
/// its ".0". Without an exponent from 0.0001 up to 1e15: "100000.0".
VCAP_EXPORT std::string number_text(double value);

/// "1 frame", "3 frames": the noun gets an s unless the count is 1.
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return (std::to_string(count) + ' ').append(noun) + (count == 1 ? "" : "s");
}

/// The longest text of an author or a host that a message or record keeps, in bytes.
inline constexpr std::size_t kLongestForeignText = 4096;

/// The text, cut after kLongestForeignText bytes with a mark that names its size. The cut splits no
/// UTF-8 sequence.
VCAP_EXPORT std::string bounded_text(std::string_view text);

/// The message of an exception of any type, as bounded_text(): authors and hosts may throw
/// messages of any size.
VCAP_EXPORT std::string exception_text(const std::exception_ptr& thrown);

/// Where the first byte is that is not part of a UTF-8 sequence (RFC 3629); `npos` if all are.
VCAP_EXPORT std::size_t find_invalid_utf8(std::string_view text) noexcept;

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
