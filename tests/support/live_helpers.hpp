// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sources/live_clock.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::test {

/// Collects vcap's log while it lives, so that the log is not in the test's output.
class KeptLog {
 public:
  KeptLog() {
    set_log_hook([this](LogLevel level, std::string_view line) {
      const std::lock_guard lock(mutex_);
      text_ += std::string(kNames[static_cast<std::size_t>(level)]).append(line) + '\n';
      grown_.notify_all();
    });
  }
  KeptLog(const KeptLog&) = delete;
  KeptLog& operator=(const KeptLog&) = delete;
  ~KeptLog() { set_log_hook({}); }

  /// All lines, each with its level, such as "warning: …".
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  /// Returns false if the log does not contain `words` within half a minute.
  bool wait_for(const std::string& words) const {
    std::unique_lock lock(mutex_);
    return grown_.wait_for(lock, std::chrono::seconds(30),
                           [&] { return text_.find(words) != std::string::npos; });
  }

 private:
  static constexpr const char* kNames[] = {"debug: ", "info: ", "warning: ", "error: "};

  mutable std::mutex mutex_;
  mutable std::condition_variable grown_;
  std::string text_;
};

/// Reads until the source fails or ends; returns the frames and the failure's message.
inline std::pair<std::vector<Frame>, std::string> read_to_failure(Source& source) {
  std::vector<Frame> frames;
  try {
    while (std::optional<Frame> frame = source.read()) frames.push_back(*std::move(frame));
  } catch (const SourceError& error) {
    return {std::move(frames), error.what()};
  }
  return {std::move(frames), ""};
}

/// The indexes of the frames with that discontinuity.
inline std::vector<std::int64_t> frames_with(Discontinuity discontinuity,
                                             const std::vector<Frame>& frames) {
  std::vector<std::int64_t> found;
  for (const Frame& frame : frames)
    if (frame.discontinuity == discontinuity) found.push_back(frame.index);
  return found;
}

inline void expect_one_stream(const std::vector<Frame>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].index, static_cast<std::int64_t>(i));
    if (i > 0) {
      EXPECT_GT(frames[i].pts, frames[i - 1].pts);
    }
  }
}

/// A clock and random numbers that a test controls.
class TestClock final : public LiveClock {
 public:
  explicit TestClock(std::vector<std::chrono::nanoseconds>& waits,
                     std::function<void()> while_waiting = {})
      : waits_(waits), while_waiting_(std::move(while_waiting)) {}
  std::chrono::steady_clock::time_point now() override {
    return now_ += std::chrono::milliseconds(1);
  }
  void wait(std::chrono::nanoseconds time, const std::stop_token&) override {
    waits_.push_back(time);
    now_ += time;
    if (while_waiting_) while_waiting_();
  }
  double chance() override { return 0.5; }

 private:
  std::vector<std::chrono::nanoseconds>& waits_;
  const std::function<void()> while_waiting_;
  std::chrono::steady_clock::time_point now_{};
};

}  // namespace vcap::test
