// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "observe/trace_log.hpp"
#include "streams/slicing.hpp"
#include "vcap/observe/pipeline_stats.hpp"
#include "vcap/streams/stream_config.hpp"
#include "vcap/streams/stream_report.hpp"
#include "vcap/streams/stream_settings.hpp"
#include "workers/in_flight_limiter.hpp"
#include "workers/watchdog.hpp"
#include "workers/work_pool.hpp"

namespace vcap {

class Stream;

/// A StreamConfig with all automatic values decided. Thread safety: value.
struct StreamRules {
  std::string source_name{};                       ///< SourceInfo::description
  OverflowPolicy overflow = OverflowPolicy::wait;  ///< never `automatic`
  std::size_t frames_in_flight = 1;
  /// A source that waits is woken once this number of frames has room.
  std::size_t resume_threshold = 1;
  std::int64_t keep_every = 1;
  std::optional<std::int64_t> max_frames{};
  bool keeps_pictures = true;  ///< the host or a sink may look at any picture of a record
  std::set<std::string> kept_pictures{};  ///< those that sinks use by their names
  bool keeps_steps = false;               ///< a sink uses FrameRecord::steps
  bool pull = false;
  QuarantinePolicy quarantine{};
  std::chrono::nanoseconds deadline{0};  ///< for one capsule and one frame; 0: no limit
  /// In place of the deadline while a backend makes its first call; not below it.
  std::chrono::nanoseconds first_call_deadline{0};
  bool can_give_up = false;  ///< Pipeline::give_up_calls() must reach calls without a deadline, too
  std::uint64_t seed = 0;    ///< for the states
  std::shared_ptr<RecordedFrames> recorded{};          ///< StreamConfig::recorded
  std::map<std::string, JsonValue> config{};           ///< for the states, by capsule
  std::map<std::string, SavedState> saved{};           ///< from which the first states continue
  std::optional<std::vector<std::string>> capsules{};  ///< absent: all
  /// Why the stream was not cut, if slices were to be chosen automatically.
  std::string not_sliced{};

  // For a slice, which runs as a stream of its own.
  std::shared_ptr<const Slice> slice{};  ///< null: all frames
  /// Gets the records in place of sinks, each with the time at which its frame was read. [stream's
  /// delivery, in order]
  std::function<void(FrameRecord, std::chrono::steady_clock::time_point)> hand_over{};
  std::function<void()> on_end{};  ///< called once, after the last hand_over()

  /// Whether calls of capsules are watched, so that they can be given up.
  bool watches_calls() const noexcept { return can_give_up || deadline.count() > 0; }
};

/// What the streams of a pipeline share.
struct StreamServices {
  WorkPool& pool;
  Watchdog& watchdog;
  InFlightLimiter& flights;
  std::shared_ptr<TraceLog> trace{};  ///< null if no trace is wanted
};

/// `config`: as the stream was given it.
CapsuleSettings capsule_settings(const CapsuleInfo& info, const OptionValues& options,
                                 const JsonValue& config, const std::string& stream);

/// A stream as its pipeline uses it. Thread safety: thread-safe.
class PipelineStream {
 public:
  PipelineStream(std::string id, StreamRules rules)
      : id_(std::move(id)), rules_(std::move(rules)) {}
  PipelineStream(const PipelineStream&) = delete;
  PipelineStream& operator=(const PipelineStream&) = delete;
  virtual ~PipelineStream() = default;

  const std::string& id() const noexcept { return id_; }
  const StreamRules& rules() const noexcept { return rules_; }

  /// Starts the source thread.
  virtual void start() = 0;
  /// Makes the source end soon; does not wait.
  virtual void stop() noexcept = 0;
  /// Waits for the next record; `nullopt` once no more will come. Only with rules().pull.
  virtual std::optional<FrameRecord> next() = 0;
  /// The same without waiting.
  virtual std::optional<FrameRecord> try_next() = 0;
  /// Drops all records that are not yet pulled, and all later ones.
  virtual void discard_records() = 0;
  /// Waits until the last frame is completed and every state is closed.
  virtual void wait_until_ended() = 0;
  /// Also waits for the stream's own threads; after that, nothing of it runs.
  virtual void join() = 0;
  /// Changes an option of a capsule from the first frame on that has not begun its first capsule;
  /// returns the lowest index that the frame can have.
  virtual std::int64_t set_option(const std::string& capsule, const std::string& option,
                                  OptionValue value) = 0;
  virtual StreamReport report() const = 0;
  virtual StreamStats stats() const = 0;
  virtual StreamSettings settings() const = 0;
  /// This stream, if its capsules can be replaced; null otherwise.
  virtual std::shared_ptr<Stream> changeable() = 0;

 protected:
  const std::string id_;
  const StreamRules rules_;
};

}  // namespace vcap
