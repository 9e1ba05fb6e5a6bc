// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_annotations.hpp"
#include "files/output_file.hpp"
#include "vcap/observe/trace.hpp"

namespace vcap {

/// The groups that a trace viewer shows as processes.
enum class TraceProcess { streams = 1, capsules, devices };

/// A slice of a trace, and the arrow through it.
struct TraceSlice {
  enum class Arrow : char { none = 0, begins = 's', passes = 't', ends = 'f' };

  std::string name{};
  std::string arguments{};  ///< members of a JSON object, without its braces
  Arrow arrow = Arrow::none;
  std::uint64_t frame = 0;  ///< the frame that the arrow belongs to: TraceLog::new_frame()
};

/// `"key":value`, for a slice's arguments.
std::string trace_argument(std::string_view key, std::int64_t value);
std::string trace_argument(std::string_view key, std::string_view value);

class TraceLanes;

/// The file of a trace. The first error ends the log; only close() reports it. Thread safety:
/// thread-safe.
class TraceLog {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit TraceLog(const std::filesystem::path& path);
  ~TraceLog();
  /// Null if `trace` is null.
  static std::shared_ptr<TraceLog> of(const std::shared_ptr<Trace>& trace);

  void close() VCAP_EXCLUDES(mutex_);
  /// Ends the log and leaves no file.
  void abandon() noexcept VCAP_EXCLUDES(mutex_);

  /// A number that is unique among the trace's frames; never 0.
  std::uint64_t new_frame() noexcept { return ++last_frame_; }
  /// A lane whose slices do not overlap.
  int add_lane(TraceProcess process, std::string_view name) noexcept;
  /// The lanes of that name, which live as long as the log; null if memory runs out or the log has
  /// ended.
  TraceLanes* lanes(TraceProcess process, const std::string& name) noexcept;

  void add_slice(TraceProcess process, int lane, time_point begin, time_point end,
                 const TraceSlice& slice) noexcept;
  void add_instant(TraceProcess process, int lane, std::string_view name,
                   const std::string& arguments) noexcept;

 private:
  std::string microseconds(time_point time) const;
  void append(const std::string& events) VCAP_EXCLUDES(mutex_);
  void fail() noexcept VCAP_EXCLUDES(mutex_);
  void flush() VCAP_REQUIRES(mutex_);
  template <class Function>
  void attempt(const Function& function) noexcept;

  const time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> last_frame_{0};
  std::atomic<int> last_lane_{0};
  std::atomic<bool> listens_{true};

  Mutex mutex_;
  std::optional<OutputFile> file_ VCAP_GUARDED_BY(mutex_);
  std::string buffer_ VCAP_GUARDED_BY(mutex_){};
  std::exception_ptr failure_ VCAP_GUARDED_BY(mutex_){};
  bool closed_ VCAP_GUARDED_BY(mutex_) = false;
  std::map<std::pair<TraceProcess, std::string>, std::unique_ptr<TraceLanes>> lanes_
      VCAP_GUARDED_BY(mutex_){};
};

/// As many lanes as slices of one kind overlap: each slice begins in the lowest lane that is free.
/// Thread safety: thread-safe.
class TraceLanes {
 public:
  /// The place of a slice that is missing.
  static constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();

  TraceLanes(TraceLog& log, TraceProcess process, std::string name);

  /// Returns the place to pass to end().
  std::size_t begin(TraceSlice slice) noexcept;
  void end(std::size_t place) noexcept;

 private:
  struct Lane {
    int number;
    bool busy = false;
    TraceLog::time_point since{};
    TraceSlice slice{};
  };

  TraceLog& log_;
  const TraceProcess process_;
  const std::string name_;
  Mutex mutex_;
  std::vector<Lane> lanes_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
