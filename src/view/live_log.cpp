// SPDX-License-Identifier: Apache-2.0
#include "view/live_log.hpp"

#include <ctime>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/url.hpp"

namespace vcap {
namespace {

const char* name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

/// ISO 8601, in UTC.
std::string text_of_time(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
    return {};
  return text;
}

}  // namespace

void LiveLog::add(LogLevel level, std::string_view text) {
  Line line{.time = std::chrono::system_clock::now(),
            .level = level,
            .text = without_passwords(bounded_text(text))};
  const MutexLock lock(mutex_);
  lines_.push_back(std::move(line));
  ++next_;
  if (lines_.size() > kMostLines) lines_.pop_front();
}

nlohmann::json LiveLog::json(std::uint64_t from) const {
  const MutexLock lock(mutex_);
  nlohmann::json lines = nlohmann::json::array();
  std::uint64_t number = next_ - lines_.size();
  for (const Line& line : lines_) {
    if (number >= from)
      lines.push_back({{"number", number},
                       {"time", text_of_time(line.time)},
                       {"level", name_of(line.level)},
                       {"text", line.text}});
    ++number;
  }
  return {{"next", next_}, {"lines", std::move(lines)}};
}

std::uint64_t LiveLog::next() const {
  const MutexLock lock(mutex_);
  return next_;
}

}  // namespace vcap
