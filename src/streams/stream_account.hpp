// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>

#include "base/call_meter.hpp"
#include "vcap/observe/pipeline_stats.hpp"
#include "vcap/streams/stream_report.hpp"

namespace vcap {

/// Why a stream fails. Made without a lock, since it calls what() of the exception, which may be a
/// host's. Thread safety: value.
struct StreamFailure {
  StreamFailure() = default;
  explicit StreamFailure(std::exception_ptr thrown);
  explicit operator bool() const noexcept { return cause != nullptr; }

  std::exception_ptr cause{};  ///< null: no failure
  std::string text{};
};

/// What a stream reports about itself: counts, latency, failure. Thread safety: thread-compatible.
class StreamAccount {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit StreamAccount(const std::string& id) { report_.id = id; }

  /// The stream starts.
  void start(time_point now) noexcept { opened_ = now; }
  /// A record was delivered whose frame was read at `read_at`.
  void add_record(bool has_errors, time_point read_at, time_point now);
  void add_drops(const std::string& reason, std::int64_t frames);
  /// A frame that a quarantined capsule was left out of.
  void add_quarantined(const std::string& capsule) { ++report_.quarantined[capsule]; }
  /// True for the first failure, which the report keeps.
  bool fail(const StreamFailure& failure);
  void end(time_point now);

  bool has_ended() const noexcept { return report_.ended; }
  bool has_failed() const noexcept { return report_.failure_cause != nullptr; }
  StreamReport report(time_point now) const;
  /// Sets the part of the statistics that both kinds of streams have.
  void describe(StreamStats& stats, time_point now) const;

  /// For what only one kind of stream reports.
  StreamReport& own() noexcept { return report_; }

 private:
  StreamReport report_{};
  CallMeter latency_{};  ///< from reading a frame to its record
  time_point opened_ = std::chrono::steady_clock::now();
};

}  // namespace vcap
