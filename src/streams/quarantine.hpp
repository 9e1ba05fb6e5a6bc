// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "vcap/streams/stream_config.hpp"

namespace vcap {

/// When one capsule that keeps failing is left out of one stream's frames.
///
/// Times are frame times, so a stored video gives the same records in each run. After a pause, the
/// first failure of the capsule begins the next pause, and the first success ends the quarantine.
/// Thread safety: thread-compatible.
class Quarantine {
 public:
  explicit Quarantine(const QuarantinePolicy& policy) : policy_(policy) {}

  /// Whether the capsule is left out of a frame of that time.
  bool holds(std::chrono::nanoseconds pts) const noexcept;
  /// Notes the outcome of a frame that the capsule was called for; true if that begins a pause.
  bool note(std::chrono::nanoseconds pts, bool failed);

 private:
  QuarantinePolicy policy_;
  std::deque<std::chrono::nanoseconds> failures_{};  ///< within the window, in the order of note()
  /// When the last pause began; absent after a success.
  std::optional<std::chrono::nanoseconds> since_{};
};

}  // namespace vcap
