// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "support/bounded_wait.hpp"
#include "support/manual_clock.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/base/log.hpp"
#include "vcap/records/publisher.hpp"

namespace vcap::test {

/// What tests of publishers have in common: a folder for the spool, a clock and the log.
class PublishingTest : public testing::Test {
 protected:
  PublishingTest() {
    set_log_hook([this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      log_ += std::string(text) + '\n';
    });
  }
  ~PublishingTest() override { set_log_hook({}); }

  /// Moves the time, so that no pause lasts.
  void await_delivered(const Publisher& publisher, std::uint64_t count) {
    yield_until("messages to be delivered", [&] {
      clock_->advance(std::chrono::hours(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return publisher.stats().delivered >= count;
    });
  }
  std::string await_failure(const Publisher& publisher) {
    yield_until("a failure", [&] { return publisher.stats().is_failing; });
    return publisher.stats().last_failure.value_or("");
  }
  std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  const TemporaryFolder folder_;
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();

 private:
  mutable std::mutex mutex_;
  std::string log_;
};

}  // namespace vcap::test
