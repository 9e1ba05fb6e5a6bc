// SPDX-License-Identifier: Apache-2.0
#include "cli/console.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/log.hpp"

namespace vcap::cli {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

// Text from a capsule or a camera must not reach the terminal's control sequences.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return printable(line);
}

}  // namespace

Console::Console() : is_terminal_(::isatty(STDERR_FILENO) != 0) {}

Console& Console::shared() {
  static Console console;
  return console;
}

void Console::take_log() {
  set_log_hook([this](LogLevel level, std::string_view message) {
    std::shared_ptr<const LogHook> show;
    {
      const MutexLock lock(mutex_);
      show = show_log_;
    }
    if (show && level >= LogLevel::info) (*show)(level, message);
    if (level < LogLevel::warning) return;
    line(std::string(level == LogLevel::warning ? "vcap: warning: " : "vcap: error: ")
             .append(message));
  });
}

void Console::show_log(LogHook show) {
  auto shared = std::make_shared<const LogHook>(std::move(show));
  const MutexLock lock(mutex_);
  show_log_ = std::move(shared);
}

void Console::line(std::string_view text) {
  const MutexLock lock(mutex_);
  std::string output;
  if (!progress_.empty()) output += kClearLine;
  output += one_line(text);
  output += '\n';
  output += progress_;
  write(output);
}

void Console::progress(std::string text) {
  if (!is_terminal_) return;
  const MutexLock lock(mutex_);
  progress_ = std::move(text);
  write(std::string(kClearLine) + progress_);
}

void Console::end_progress() {
  const MutexLock lock(mutex_);
  if (progress_.empty()) return;
  progress_.clear();
  write(std::string(kClearLine));
}

}  // namespace vcap::cli
