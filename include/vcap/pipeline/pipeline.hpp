// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/output_policy.hpp"
#include "vcap/observe/pipeline_stats.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/plan/plan.hpp"
#include "vcap/records/frame_record.hpp"
#include "vcap/streams/stream_config.hpp"
#include "vcap/streams/stream_report.hpp"
#include "vcap/streams/stream_settings.hpp"

namespace vcap {

class Clock;

/// How a capsule is replaced. Passed to Pipeline::replace_capsule(). Thread safety: value.
struct ReplacePolicy {
  /// Whether streams continue with the state that the old capsule saves (BaseStreamState::save), if
  /// it saves any. Otherwise each stream gets a new state.
  bool keep_state = true;
  /// Length of the trial, in frames over all streams. If the new capsule fails on one of them, all
  /// streams go back to the old capsule from their next frame on, and a log line says so. 0: no
  /// trial.
  std::int64_t trial_frames = 0;
};

/// Runs capsules on many streams in parallel.
///
/// Every frame of a stream goes through the capsules of the plan. A node reaches each capsule whose
/// input type describes it, and the nodes that come back replace it. A capsule that takes single
/// nodes is called once for each node; if it is stateless, these calls may run in parallel. A
/// capsule that takes all nodes is also called if there are none. Capsules get copies (about a
/// microsecond a node), so the nodes stay unchanged if a capsule throws.
///
/// Frames run in parallel, but stateful capsules get a stream's frames in order, one at a time.
/// Records come in order per stream. If a capsule throws, or gives what it does not declare
/// (OutputPolicy), that frame's record gets an error. If a source or sink fails, its own stream
/// ends, and the others go on. Capsules can be replaced while streams run. Thread safety:
/// thread-safe.
class VCAP_EXPORT Pipeline {
 public:
  /// What holds for all streams of the pipeline.
  struct Settings {
    /// The most frame worker threads; they may wait for batches. 0: as many as keep batches full on
    /// this machine; the number grows with the number of streams.
    std::size_t workers = 0;
    /// The most frames that are read and not yet recorded, over all streams; 0: only the streams'
    /// own limits count. One frame of each stream is always allowed, so no stream can stop the
    /// others.
    std::size_t frames_in_flight = 0;
    /// Leaves a capsule out of all streams if it keeps failing on their frames, counted together.
    /// Times are those of `clock`. Applies in addition to StreamConfig::quarantine.
    QuarantinePolicy quarantine{};
    /// The most calls of a capsule in progress at once, by its name, over all streams; 0: no bound.
    /// Frames beyond wait without a worker, and get their turns stream by stream. It replaces
    /// CapsuleInfo::max_concurrent_calls. For other capsules, the author's number counts, or else
    /// one with which batches fill. With several capsules in the pipeline, both leave workers to
    /// the others: one for each core, or half of them if there are few. A capsule by itself has no
    /// bound but the author's.
    std::map<std::string, std::size_t> max_concurrent_calls{};
    /// What happens to capsules that do not fit in with the others.
    UnfitPolicy unfit = UnfitPolicy::refuse;
    /// How what capsules give is held against their descriptions, in place of each capsule's own
    /// policy (Capsule::output_policy). Its bounds also hold for the whole record of a frame:
    /// what a capsule adds beyond them is discarded. Absent: the capsules' own policies.
    std::optional<OutputPolicy> outputs{};
    /// For `quarantine` and StreamConfig::capsule_deadline. Null: the machine's steady clock.
    std::shared_ptr<Clock> clock{};
    /// Gets the events of streams and capsules until it is closed. Null: no trace.
    std::shared_ptr<Trace> trace{};
    /// Whether give_up_calls() also reaches the calls of streams without a capsule_deadline. Costs
    /// each call less than a microsecond.
    bool can_give_up_calls = false;
  };

  /// Throws PlanError; CapsuleLoadError (no_backend) for a capsule loaded without inference_mode;
  /// InvalidArgument for settings that are not allowed or name an unknown capsule.
  explicit Pipeline(std::vector<std::shared_ptr<Capsule>> capsules);
  Pipeline(std::vector<std::shared_ptr<Capsule>> capsules, Settings settings);
  /// Stops every stream and waits for the frames in flight. It does not wait for calls past
  /// StreamConfig::capsule_deadline, or given up by give_up_calls(); those keep their capsule alive
  /// until they return.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  Plan plan() const;
  /// The descriptions of the capsules in the plan, in its order.
  std::vector<CapsuleInfo> capsules() const;

  /// Starts a stream. Throws:
  /// - SourceError (duplicate_stream, or what the source throws)
  /// - InvalidArgument for a missing source, an unknown capsule, options or configuration of one, a
  ///   state that is open in another pipeline, or impossible slices or selection; (invalid_config)
  ///   for configuration that the capsule does not accept
  /// - OptionError
  /// - PlanError if the capsules that the stream goes through do not provide the input of one of
  ///   them
  void open_stream(StreamConfig config);
  /// Starts all of them. If one is refused, none is started; throws as open_stream().
  void open_streams(std::vector<StreamConfig> configs);
  /// Changes an option from the first frame that has not begun its first capsule; that frame's
  /// record reports the change. Frames before it have the old value. Returns the lowest index that
  /// the frame can have: with W workers, it is at most W frames after one that is in a call. Frames
  /// that were read before a capsule was replaced keep its old version; if that one does not accept
  /// the value, they keep the old value, too. Throws SourceError (unknown_stream),
  /// InvalidArgument if the stream does not go through the capsule, OptionError.
  std::int64_t set_option(const std::string& stream_id, const std::string& capsule,
                          const std::string& option, OptionValue value);
  /// Gives a running stream another config of a capsule, in place of that in StreamConfig::config.
  /// It holds from the stream's next frame on, whose record reports the change; frames that were
  /// read before keep the old one. Returns the lowest index that the frame can have. Versions that
  /// replace the capsule later get the new config, too.
  ///
  /// At that frame the capsule's state, or its parameters, are made from the new config. With
  /// `keep_state`, the new state gets what the old one saves (BaseStreamState::save), if it saves
  /// anything, as when a capsule is replaced: StreamInfo::saved, with the same version as
  /// StreamInfo::saved_by. If the state cannot be made from that, the frame's record has the error,
  /// and the next frame gets a new state without it.
  ///
  /// If it throws, nothing has changed. No effect if the stream has ended. Throws:
  /// - SourceError (unknown_stream)
  /// - InvalidArgument if the stream does not go through the capsule; if it runs in slices,
  ///   selections or groups; if it has StreamConfig::recorded
  /// - InvalidArgument (invalid_config) if the capsule, or the one that it replaced on trial, does
  ///   not accept the config; if what makes the capsule's state or parameters throws at it, which
  ///   is tried first, in the caller's thread
  std::int64_t set_config(const std::string& stream_id, const std::string& capsule,
                          JsonValue config, bool keep_state = true);
  /// The capsules that the stream's next frame goes through, with their options and configs. Holds
  /// locks only to copy values. Throws SourceError (unknown_stream).
  StreamSettings stream_settings(const std::string& stream_id) const;
  /// Replaces the capsule of the same name by another version, in every stream that goes through
  /// it. Each stream switches at its next frame, whose record reports the change. Returns, by
  /// stream, the lowest index that this frame can have.
  ///
  /// Frames that were read before stay with the old capsule. After the last of them, and after the
  /// trial, the pipeline releases the old capsule; it then closes, unless the host keeps it. Option
  /// values that streams have set are kept, and so is the configuration of their states. Streams
  /// that run in slices, selections or groups do not get their frames in order; they keep the
  /// capsule that they began with.
  ///
  /// If it throws, nothing has changed. Throws:
  /// - InvalidArgument for an unknown name, the same capsule, or a trial of it in progress;
  ///   (invalid_config) if the new capsule does not accept a stream's configuration
  /// - CapsuleLoadError (no_backend)
  /// - PlanError if the new capsule does not fit in, or if because of it other capsules would be
  ///   left out or would no longer be left out (UnfitPolicy::leave_out)
  /// - OptionError if it does not accept an option value that a stream has set
  std::map<std::string, std::int64_t> replace_capsule(std::shared_ptr<Capsule> capsule,
                                                      ReplacePolicy policy = {});
  /// Waits for the stream's next record and returns it, in the order of its frames; `nullopt` once
  /// the stream has ended. For streams with StreamConfig::pull. If a sink throws, the stream ends.
  /// Throws SourceError (unknown_stream), InvalidArgument if the stream was opened without `pull`.
  std::optional<FrameRecord> next(const std::string& stream_id);
  /// The same without waiting: `nullopt` if no record is ready now.
  std::optional<FrameRecord> try_next(const std::string& stream_id);

  /// Stops reading, completes the frames in flight, and forgets the stream. Its sinks stay open.
  /// Records that were not pulled are dropped with reason "closed". Waits for the stream's sinks,
  /// so a sink of that stream must not call it. Throws SourceError (unknown_stream).
  StreamReport close_stream(const std::string& stream_id);
  /// Waits until the stream has ended by itself or by stop(), and, with StreamConfig::pull, until
  /// all its records are pulled. Then as close_stream().
  StreamReport wait(const std::string& stream_id);

  std::vector<StreamReport> reports() const;
  /// A snapshot of the metrics of streams, capsules and devices. Takes some microseconds for each
  /// of them; holds locks only to copy values.
  PipelineStats stats() const;
  /// Makes every source that is open now end soon; does not wait. A sink may call it.
  void stop() noexcept;
  /// Gives up the calls of capsules that have lasted for at least `age`, as capsule_deadline does
  /// (error deadline_exceeded): their frames go on without the capsule, and a log line names it.
  /// For the end of a program, if streams do not end after stop(). Reaches streams with a
  /// capsule_deadline, and with Settings::can_give_up_calls all streams. Returns the number of
  /// frames that go on so; those that a capsule got together (Backend::process_frames) count as
  /// one. Writes no records itself. A later call may be needed: the frames may reach another
  /// capsule that hangs.
  std::size_t give_up_calls(std::chrono::nanoseconds age = std::chrono::nanoseconds(0));

 private:
  struct VCAP_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
