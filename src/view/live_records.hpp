// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// The records of streams that somebody looks at, on their way to be drawn: of each stream the
/// newest one, at most as often as asked for. Of streams that nobody looks at, nothing is copied.
/// Has no clock of its own. Thread safety: thread-safe.
class LiveRecords {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;
  /// A look at a stream asks for its records of this time.
  static constexpr std::chrono::seconds kLook{2};

  /// A record that was taken, and how wide somebody wants its picture.
  struct Taken {
    FrameRecord record{};
    std::set<int> widths{};
  };

  /// Somebody looks at a stream from now on, and wants its picture so wide, once in each
  /// `interval`. The caller must know that there is such a stream.
  void look(const std::string& stream, int width, duration interval, time_point now)
      VCAP_EXCLUDES(mutex_);
  /// A stream has a new record, which takes the place of one that was not taken. [delivery]
  void put(const FrameRecord& record, time_point now) VCAP_EXCLUDES(mutex_);
  /// Waits for records until then, or until wake(). Empty if there are none.
  std::vector<Taken> take(time_point until) VCAP_EXCLUDES(mutex_);
  void wake() VCAP_EXCLUDES(mutex_);

 private:
  struct Look {
    time_point until{};
    duration interval{};
  };
  struct Looked {
    std::map<int, Look> looks{};  ///< by width
    time_point next{};            ///< records before it are not wanted
    std::optional<FrameRecord> fresh{};
  };

  /// Drops looks that have ended. The most frequent one; `nullopt` if none is left.
  static std::optional<duration> shortest_interval(Looked& looked, time_point now);

  /// The end of the last look, so that streams take no lock while nobody looks.
  std::atomic<time_point::rep> until_{time_point::min().time_since_epoch().count()};
  Mutex mutex_;
  CondVar ready_;
  bool woken_ VCAP_GUARDED_BY(mutex_) = false;
  bool has_fresh_ VCAP_GUARDED_BY(mutex_) = false;
  std::map<std::string, Looked> looked_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
