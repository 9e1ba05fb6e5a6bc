// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vcap {

// The parts of which the pages of reports and comparisons are made. All functions are thread-safe.

/// The clip of a stream. Thread safety: value.
struct StreamClip {
  std::string file{};  ///< to read it; empty: there is none
  std::string link{};  ///< as seen from the page
};
/// `link`: empty for that of the file. Throws InvalidArgument if the stream is not one of `known`.
StreamClip clip_of_stream(const std::string& stream, const std::vector<std::string>& known,
                          const std::string& clip, const std::string& link);

/// The page up to its heading. It forbids scripts and requests.
std::string page_begin(const std::string& title);
inline constexpr const char* kReportEnd = "</body></html>\n";

std::string cell(const std::string& text);
std::string number_cell(const std::string& text);
std::string number_cell(std::int64_t number);
/// A cell whose content is HTML already, such as a link.
std::string html_cell(const std::string& html);
/// `rows`: HTML.
std::string table_of(const std::vector<std::string>& heads, const std::string& rows);
/// Says that a list is not complete; empty if `count` is 0. `what`: such as "errors".
std::string more(std::int64_t count, const char* what);

double seconds_of(std::chrono::nanoseconds time);
/// A time; a link if there is a clip.
std::string time_link(std::chrono::nanoseconds pts, const std::string& clip);
/// A clip as a link shows it: a URL of http(s) as it is, any other text as a file's path.
std::string link_to(const std::string& clip);

/// Of a name or value that is kept, in bytes.
inline constexpr std::size_t kLongestKept = 200;
/// The text, cut after kLongestKept bytes with a mark.
std::string shortened(const std::string& text);

}  // namespace vcap
