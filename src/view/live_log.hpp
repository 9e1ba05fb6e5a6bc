// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/thread_annotations.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

/// The newest lines of a log, numbered from 1. Thread safety: thread-safe.
class LiveLog {
 public:
  static constexpr std::size_t kMostLines = 200;

  void add(LogLevel level, std::string_view text) VCAP_EXCLUDES(mutex_);
  /// {"next": N, "lines": […]}: the lines from number `from` on, and the number of the next one.
  nlohmann::json json(std::uint64_t from) const VCAP_EXCLUDES(mutex_);
  std::uint64_t next() const VCAP_EXCLUDES(mutex_);

 private:
  struct Line {
    std::chrono::system_clock::time_point time{};
    LogLevel level = LogLevel::info;
    std::string text{};
  };

  mutable Mutex mutex_;
  std::uint64_t next_ VCAP_GUARDED_BY(mutex_) = 1;
  std::deque<Line> lines_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
