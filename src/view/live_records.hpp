// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/thread_annotations.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// The newest record of each stream that somebody looks at. Of streams that nobody looks at,
/// nothing is copied. Has no clock of its own. Thread safety: thread-safe.
class LiveRecords {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  /// A look at a stream asks for its records of this time.
  static constexpr std::chrono::seconds kLook{2};

  /// Somebody looks at a stream. Gives its newest record; `nullopt` until there is one. The caller
  /// must know that there is such a stream.
  std::optional<FrameRecord> look(const std::string& stream, time_point now) VCAP_EXCLUDES(mutex_);
  /// A stream has a new record, which takes the place of the one before.
  void put(const FrameRecord& record, time_point now) VCAP_EXCLUDES(mutex_);

 private:
  struct Looked {
    time_point until{};
    std::optional<FrameRecord> newest{};
  };

  /// The end of the last look, so that streams take no lock while nobody looks.
  std::atomic<time_point::rep> until_{time_point::min().time_since_epoch().count()};
  Mutex mutex_;
  std::map<std::string, Looked> looked_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
