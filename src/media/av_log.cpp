// SPDX-License-Identifier: Apache-2.0
#include "media/av_log.hpp"

extern "C" {
#include <libavutil/log.h>
}

#include <algorithm>
#include <array>
#include <cstdarg>
#include <mutex>
#include <string>
#include <string_view>

#include "files/url.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// More verbose messages contain whole requests, with the passwords in their headers.
constexpr int kMostVerbose = AV_LOG_VERBOSE;
/// Limits memory if a line never ends.
constexpr std::size_t kLongestLine = 16'384;

/// What a thread has logged of a line so far; libav gives lines in parts.
struct AvLine {
  std::string text{};
  int is_begin = 1;  ///< libav's flag: the next part gets a prefix that names its origin
};

/// The formatted part; with a prefix that names its origin if it begins a line.
std::string format_part(AvLine& line, void* speaker, int level, const char* format,
                        std::va_list values) {
  std::array<char, 1024> buffer{};
  std::va_list again;
  va_copy(again, values);
  int is_begin = line.is_begin;
  const int size = av_log_format_line2(speaker, level, format, values, buffer.data(),
                                       static_cast<int>(buffer.size()), &line.is_begin);
  std::string part;
  if (size < static_cast<int>(buffer.size())) {
    part = buffer.data();
  } else {
    // Format all of it: in a truncated URL, the password cannot be found.
    part.resize(static_cast<std::size_t>(size) + 1);
    av_log_format_line2(speaker, level, format, again, part.data(), size + 1, &is_begin);
    part.resize(static_cast<std::size_t>(size));
  }
  va_end(again);
  return part;
}

void write_line(std::string_view words) {
  if (words.empty()) return;
  std::string line = "libav: " + without_passwords(words);
  // Text from a server may contain terminal control codes.
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  log(LogLevel::debug, line);
}

void write_whole_lines(std::string& text) {
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find_first_of("\r\n", begin)) != std::string::npos;
       begin = end + 1)
    write_line(std::string_view(text).substr(begin, end - begin));
  text.erase(0, begin);
  if (text.size() <= kLongestLine) return;
  write_line(text);
  text.clear();
}

/// [any thread, concurrent]
void take_part(void* speaker, int level, const char* format, std::va_list values) {
  // The low byte is the level; the rest is the colour.
  if (level >= 0) level &= 0xff;
  if (level > std::min(av_log_get_level(), kMostVerbose)) return;
  thread_local AvLine line;
  try {
    line.text += format_part(line, speaker, level, format, values);
    write_whole_lines(line.text);
  } catch (...) {
    // Exceptions must not reach libav, which is C. Losing a log line is acceptable.
  }
}

}  // namespace

void take_av_log() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(take_part); });
}

}  // namespace vcap
