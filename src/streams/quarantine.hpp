// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "vcap/base/export.hpp"
#include "vcap/streams/stream_config.hpp"

namespace vcap {

/// When one capsule, which keeps failing, is left out of one stream's frames.
///
/// Times are those of the frames, so that a stored video gives the same records each time. After
/// the pause the capsule is on trial: its first failure begins the next pause, its first success
/// ends the matter. Thread safety: thread-compatible.
class VCAP_EXPORT Quarantine {
 public:
  explicit Quarantine(const QuarantinePolicy& policy) : policy_(policy) {}

  /// Whether a frame of that time is left out.
  bool holds(std::chrono::nanoseconds pts) const noexcept;
  /// Notes how the capsule did on a frame that was not left out; true where that begins a pause.
  bool note(std::chrono::nanoseconds pts, bool failed);

 private:
  QuarantinePolicy policy_;
  std::deque<std::chrono::nanoseconds> failures_{};  ///< within the window, in order of noting
  std::optional<std::chrono::nanoseconds> since_{};  ///< the last pause; absent once it is over
};

}  // namespace vcap
