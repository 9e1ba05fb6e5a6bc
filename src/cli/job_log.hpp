// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/thread_annotations.hpp"
#include "vcap/jobs/bulk.hpp"

namespace vcap::cli {

/// Reports a job's videos while it runs, and how long the rest will take. Thread safety:
/// thread-safe.
class JobLog {
 public:
  explicit JobLog(const Job& job);

  /// Says how much earlier runs have stored.
  void resume(const JobKept& kept) VCAP_EXCLUDES(mutex_);
  void add_frames(std::int64_t count) noexcept {
    frames_.fetch_add(count, std::memory_order_relaxed);
  }
  void add(const JobVideoReport& video) VCAP_EXCLUDES(mutex_);
  /// The first video of which every frame failed; empty if there is none.
  std::string every_frame_failed() const VCAP_EXCLUDES(mutex_);
  /// The text of the progress line after this time.
  std::string progress(std::chrono::duration<double> elapsed) const VCAP_EXCLUDES(mutex_);

 private:
  double seconds_left(std::chrono::duration<double> elapsed) const VCAP_REQUIRES(mutex_);

  std::atomic<std::int64_t> frames_ = 0;  ///< in this run

  mutable Mutex mutex_;
  /// Of the videos that are not settled, by id. The weight of a video is its size in bytes, since
  /// its number of frames is not known before it is opened; 1 if each ends after some frames.
  std::map<std::string, double> weights_ VCAP_GUARDED_BY(mutex_){};
  const std::size_t videos_;
  std::size_t settled_ VCAP_GUARDED_BY(mutex_) = 0;
  double done_weight_ VCAP_GUARDED_BY(mutex_) = 0;        ///< of videos done in this run
  std::int64_t done_frames_ VCAP_GUARDED_BY(mutex_) = 0;  ///< of the same
  std::int64_t kept_frames_ VCAP_GUARDED_BY(mutex_) = 0;  ///< stored before, of videos not done
  std::string every_frame_failed_ VCAP_GUARDED_BY(mutex_){};
};

}  // namespace vcap::cli
