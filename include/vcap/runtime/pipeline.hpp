// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/runtime/frame_record.hpp"
#include "vcap/runtime/plan.hpp"
#include "vcap/runtime/sink.hpp"
#include "vcap/runtime/source.hpp"

namespace vcap {

/// What happens to frames when a source is faster than the capsules.
enum class OverflowPolicy {
  automatic,    ///< `wait` for stored sources, `drop_oldest` for live ones
  wait,         ///< the source waits; no frame is lost
  drop_oldest,  ///< the oldest frame not yet begun is dropped, counted with reason "overload"
  drop_newest   ///< the frame that was just read is, likewise
};

/// When a capsule that keeps failing on a stream's frames is left out of them for a while. Times
/// are those of the frames. Thread safety: value.
struct QuarantinePolicy {
  std::size_t failures = 0;  ///< frames that it failed on, within `window`; 0: never
  std::chrono::nanoseconds window = std::chrono::seconds(10);
  /// For so long it is not called, and each record says so (code "quarantined"). Then one frame is
  /// tried: where it fails, the next pause begins.
  std::chrono::nanoseconds pause = std::chrono::seconds(30);
};

/// How one stream runs. Handed over to Pipeline::open_stream.
struct StreamConfig {
  /// Unique among the pipeline's streams that are not yet forgotten (wait, close_stream), and among
  /// those of other pipelines that share a stateful capsule.
  std::string id{};
  std::unique_ptr<Source> source{};
  std::vector<std::shared_ptr<Sink>> sinks{};
  std::map<std::string, OptionValues> options{};   ///< by capsule name; absent: the defaults
  std::map<std::string, nlohmann::json> config{};  ///< by capsule name; for the stream's state
  OverflowPolicy overflow = OverflowPolicy::automatic;
  /// Frames read and not yet recorded; 0: as many as keep the machine busy. Where the oldest are
  /// dropped, this many may be begun, and one more, the newest, waits.
  std::size_t frames_in_flight = 0;
  /// Of so many frames that the source gives, the first is analysed; the others are dropped, with
  /// reason "skipped". At least 1.
  std::int64_t keep_every = 1;
  /// Records wait for Pipeline::next() to take them, which then writes them to the sinks too; those
  /// that wait are in flight.
  bool pull = false;
  std::optional<std::int64_t> max_frames{};  ///< reads no more than that many, drops counted
  QuarantinePolicy quarantine{};             ///< for each capsule by itself
};

/// How a stream went. The frames that its source gave are `frames` and the drops, and, until it
/// has ended, those in flight. Thread safety: value.
struct StreamReport {
  std::string id{};
  std::int64_t frames = 0;                      ///< records written to every sink
  std::map<std::string, std::int64_t> drops{};  ///< by reason (docs/records.md)
  std::int64_t errors = 0;  ///< frames on which a capsule failed or was left out
  std::map<std::string, std::int64_t> quarantined{};  ///< frames left out, by capsule
  std::chrono::nanoseconds elapsed{0};                ///< since the stream was opened
  bool ended = false;                                 ///< no frame will follow
  std::optional<std::string> failure{};               ///< why it ended before its source did
  std::exception_ptr failure_cause{};                 ///< the same, to be rethrown
};

/// Runs capsules on many streams at once.
///
/// Every frame of a stream goes through the plan's capsules: a node reaches each capsule whose
/// input type describes it, and what comes back replaces it. A capsule for single nodes is called
/// for all nodes of a frame at once; one for all nodes is called also where there are none; each
/// gets copies (about a microsecond a node), so that the nodes stay whole where it throws. Frames
/// run in parallel, except that stateful capsules get a stream's frames in order, one at a time.
/// Records come in order per stream. A capsule that throws fails that frame's record, a source or
/// sink that fails ends its own stream, and the others go on. Thread safety: thread-safe.
class VCAP_EXPORT Pipeline {
 public:
  struct Settings {
    /// Threads that frames are worked on by at most; they may wait for batches. 0: as many as keep
    /// batches full on this machine, more the more streams there are.
    std::size_t workers = 0;
  };

  /// Throws PlanError; CapsuleLoadError (no_backend) for one loaded without inference_mode.
  explicit Pipeline(std::vector<std::shared_ptr<Capsule>> capsules);
  Pipeline(std::vector<std::shared_ptr<Capsule>> capsules, Settings settings);
  /// Stops every stream and waits for what is in flight.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  const Plan& plan() const noexcept;

  /// Starts a stream. Throws SourceError (duplicate_stream), InvalidArgument (no source, options
  /// or configuration of an unknown capsule, state open in another pipeline), OptionError.
  void open_stream(StreamConfig config);
  /// Changes an option from the next frame that is read on; gives that frame's index. Throws
  /// SourceError (unknown_stream), OptionError.
  std::int64_t set_option(const std::string& stream_id, const std::string& capsule,
                          const std::string& option, OptionValue value);
  /// The stream's next record, in the order of its frames: waits for it; nothing once the stream
  /// has ended. For streams with StreamConfig::pull. What a sink throws ends the stream. Throws
  /// SourceError (unknown_stream), InvalidArgument where the stream is none to pull from.
  std::optional<FrameRecord> next(const std::string& stream_id);
  /// The same without waiting; nothing where there is none yet, or will be none.
  std::optional<FrameRecord> try_next(const std::string& stream_id);

  /// Reads no more, answers the frames in flight, forgets the stream; its sinks stay open. Records
  /// that nobody has pulled are dropped, with reason "closed". Not to be called by a sink of that
  /// stream, which it waits for. Throws SourceError (unknown_stream).
  StreamReport close_stream(const std::string& stream_id);
  /// Waits until the stream has ended by itself or by stop() and all its records are pulled where
  /// they are to be, then as close_stream.
  StreamReport wait(const std::string& stream_id);

  std::vector<StreamReport> reports() const;
  /// Makes every source that is open now end soon; waits for nothing. A sink may call it.
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
