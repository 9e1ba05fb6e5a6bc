// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/observe/pipeline_stats.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/plan/plan.hpp"
#include "vcap/records/frame_record.hpp"
#include "vcap/streams/stream_config.hpp"
#include "vcap/streams/stream_report.hpp"

namespace vcap {

/// How a capsule is replaced. Handed over to Pipeline::replace_capsule. Thread safety: value.
struct ReplacePolicy {
  /// Whether streams go on with what the old one's states save (BaseStreamState::save), where they
  /// save anything; otherwise they begin anew.
  bool keep_state = true;
  /// Frames, over all streams, that the new one must not fail on: where it fails on one, all
  /// streams go back to the old one from their next frame on, which a log line says. 0: no trial.
  std::int64_t trial_frames = 0;
};

/// Runs capsules on many streams at once.
///
/// Every frame of a stream goes through the plan's capsules: a node reaches each capsule whose
/// input type describes it, and what comes back replaces it. A capsule for single nodes is called
/// for all nodes of a frame at once; one for all nodes is called also where there are none; each
/// gets copies (about a microsecond a node), so that the nodes stay whole where it throws. Frames
/// run in parallel, except that stateful capsules get a stream's frames in order, one at a time.
/// Records come in order per stream. A capsule that throws fails that frame's record, a source or
/// sink that fails ends its own stream, and the others go on. Capsules can be replaced while
/// streams run. Thread safety: thread-safe.
class VCAP_EXPORT Pipeline {
 public:
  struct Settings {
    /// Threads that frames are worked on by at most; they may wait for batches. 0: as many as keep
    /// batches full on this machine, more the more streams there are.
    std::size_t workers = 0;
    /// Frames read and not yet recorded, over all streams; 0: as many as the streams' own bounds
    /// allow. One frame of each stream is always allowed, so that none can stop the others.
    std::size_t frames_in_flight = 0;
    /// Leaves a capsule out of all streams where it keeps failing on their frames together; times
    /// are those of `clock`. Beside StreamConfig::quarantine.
    QuarantinePolicy quarantine{};
    /// What happens to capsules that do not fit in with the others.
    UnfitPolicy unfit = UnfitPolicy::refuse;
    /// For `quarantine` and StreamConfig::capsule_deadline. Null: the machine's steady clock.
    std::shared_ptr<Clock> clock{};
    /// Is told of what streams and capsules do, until it is closed. Null: nobody is.
    std::shared_ptr<Trace> trace{};
  };

  /// Throws PlanError; CapsuleLoadError (no_backend) for one loaded without inference_mode.
  explicit Pipeline(std::vector<std::shared_ptr<Capsule>> capsules);
  Pipeline(std::vector<std::shared_ptr<Capsule>> capsules, Settings settings);
  /// Stops every stream and waits for what is in flight; not for calls past
  /// StreamConfig::capsule_deadline, which keep their capsule alive until they come back.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  Plan plan() const;

  /// Starts a stream. Throws SourceError (duplicate_stream, or of the source), InvalidArgument (no
  /// source, an unknown capsule, options or configuration of one, state open in another pipeline,
  /// slices or a selection that cannot be; invalid_config for configuration that the capsule does
  /// not take), OptionError, PlanError where a capsule's input is not provided by those that the
  /// stream goes through.
  void open_stream(StreamConfig config);
  /// Starts all of them or, where one is refused, none: throws as open_stream() does.
  void open_streams(std::vector<StreamConfig> configs);
  /// Changes an option from the next frame that is read on; gives that frame's index, whose record
  /// tells of it. Throws SourceError (unknown_stream), InvalidArgument for a capsule that the
  /// stream does not go through, OptionError.
  std::int64_t set_option(const std::string& stream_id, const std::string& capsule,
                          const std::string& option, OptionValue value);
  /// Replaces the capsule of the same name by another version, in every stream that goes through
  /// it: each from its next frame on, whose index is given by stream, and whose record tells of it.
  /// Frames that were read before stay with the old one, which the pipeline lets go of after the
  /// last of them (and after the trial); so it closes then, unless the host keeps it. Values of
  /// options that streams have set are kept, and the configuration of their states. Streams that
  /// run in slices, selections or groups, whose frames do not come in order, go on with the capsule
  /// that they began with.
  ///
  /// Where it throws, nothing has changed: InvalidArgument (no capsule of that name, the same one,
  /// a trial of it is in progress, or invalid_config where it does not take a stream's
  /// configuration), CapsuleLoadError (no_backend), PlanError where the new one
  /// does not fit in, or others would be left out or come in for it (UnfitPolicy::leave_out),
  /// OptionError where it does not take a value that a stream has set.
  std::map<std::string, std::int64_t> replace_capsule(std::shared_ptr<Capsule> capsule,
                                                      ReplacePolicy policy = {});
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
  /// What streams, capsules and devices are doing. Some microseconds for each; blocks nobody.
  PipelineStats stats() const;
  /// Makes every source that is open now end soon; waits for nothing. A sink may call it.
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
