// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "observe/trace_log.hpp"
#include "streams/slicing.hpp"
#include "vcap/observe/pipeline_stats.hpp"
#include "vcap/streams/stream_config.hpp"
#include "vcap/streams/stream_report.hpp"
#include "workers/flight_limit.hpp"
#include "workers/watchdog.hpp"
#include "workers/work_pool.hpp"

namespace vcap {

class Stream;

/// How a StreamConfig reads once all that is automatic has been decided. Thread safety: value.
struct StreamRules {
  OverflowPolicy overflow = OverflowPolicy::wait;  ///< none that is automatic
  std::size_t frames_in_flight = 1;
  std::size_t room_to_read = 1;  ///< frames' room at which a source that waits for it is woken
  std::int64_t keep_every = 1;
  std::optional<std::int64_t> max_frames{};
  bool pull = false;
  QuarantinePolicy quarantine{};
  std::chrono::nanoseconds deadline{0};                ///< of a capsule over a frame; 0: none
  std::uint64_t seed = 0;                              ///< for the states
  std::map<std::string, nlohmann::json> config{};      ///< for the states, by capsule
  std::optional<std::vector<std::string>> capsules{};  ///< absent: all
  std::string not_sliced{};                            ///< why, where it was to be if possible

  // Of a slice, which is run as a stream of its own.
  std::shared_ptr<const Slice> slice{};  ///< null: all frames
  /// Takes the records in place of sinks, with the times at which their frames were read.
  /// [stream's delivery, in order]
  std::function<void(FrameRecord, std::chrono::steady_clock::time_point)> hand_over{};
  std::function<void()> on_end{};  ///< called once, when no other of these will be
};

/// What the streams of a pipeline share.
struct StreamServices {
  WorkPool& pool;
  Watchdog& watchdog;
  FlightLimit& flights;
  std::shared_ptr<TraceLog> trace{};  ///< null where none is asked for
};

/// A stream as its pipeline deals with it. Thread safety: thread-safe.
class PipelineStream {
 public:
  PipelineStream(std::string id, StreamRules rules)
      : id_(std::move(id)), rules_(std::move(rules)) {}
  PipelineStream(const PipelineStream&) = delete;
  PipelineStream& operator=(const PipelineStream&) = delete;
  virtual ~PipelineStream() = default;

  const std::string& id() const noexcept { return id_; }
  const StreamRules& rules() const noexcept { return rules_; }

  /// Starts the thread that reads.
  virtual void start() = 0;
  /// Makes the source end soon; waits for nothing.
  virtual void stop() noexcept = 0;
  /// The next record, once it is complete; nothing once there will be none. Only with rules().pull.
  virtual std::optional<FrameRecord> next() = 0;
  /// The same without waiting.
  virtual std::optional<FrameRecord> try_next() = 0;
  /// Drops the records that nobody will pull, those to come too.
  virtual void discard_records() = 0;
  /// Waits until the last frame is answered and every state dropped.
  virtual void wait_until_ended() = 0;
  /// Waits for the stream's own threads too, so that nothing of it runs any more.
  virtual void join() = 0;
  /// Changes an option of a capsule from the next frame on; gives the index that it has at least.
  virtual std::int64_t set_option(const std::string& capsule, const std::string& option,
                                  OptionValue value) = 0;
  virtual StreamReport report() const = 0;
  virtual StreamStats stats() const = 0;
  /// Itself, where its capsules can be replaced; null otherwise.
  virtual std::shared_ptr<Stream> changeable() = 0;

 protected:
  const std::string id_;
  const StreamRules rules_;
};

}  // namespace vcap
