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

#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/runtime/frame_record.hpp"
#include "vcap/runtime/pipeline_stats.hpp"
#include "vcap/runtime/plan.hpp"
#include "vcap/runtime/sampler.hpp"
#include "vcap/runtime/sink.hpp"
#include "vcap/runtime/source.hpp"
#include "vcap/runtime/trace.hpp"

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

/// Consecutive rows of a stream that are run as a stream of their own. Thread safety: value.
struct StreamGroup {
  RowRange rows{};
  std::map<std::string, nlohmann::json> config{};  ///< in place of the stream's, by capsule
};

/// How one stream runs. Handed over to Pipeline::open_stream.
struct StreamConfig {
  /// Unique among the pipeline's streams that are not yet forgotten (wait, close_stream), and among
  /// those of other pipelines that share a stateful capsule.
  std::string id{};
  std::unique_ptr<Source> source{};
  std::vector<std::shared_ptr<Sink>> sinks{};
  /// Names of the capsules that the frames go through; absent: all of the pipeline's.
  std::optional<std::vector<std::string>> capsules{};
  std::map<std::string, OptionValues> options{};  ///< by capsule name; absent: the defaults
  /// By capsule name; for the stream's state, as CapsuleInfo::stream_config_schema says.
  std::map<std::string, nlohmann::json> config{};
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

  // Of stored streams alone, which wait for their capsules.
  /// The frames whose records are wanted, by rows of the source; no row twice. The records are
  /// those that they have in a run over all frames: capsules get the warm-up and the windows that
  /// they need for it, and no others. Absent: all.
  std::optional<Sampler> select{};
  /// Into how many slices the stream is cut, which run at once; their records come in order, and
  /// are those of a run in one go, byte for byte. 0: as many as suit the machine and the capsules,
  /// or none (StreamReport::not_sliced). Never where a capsule's state is unbounded.
  std::size_t slices = 1;
  /// Runs these rows, which may overlap, as streams of their own, at once; their records come one
  /// group after the other (FrameRecord::group), and indexes count from 0 in each. Not beside the
  /// two above.
  std::vector<StreamGroup> groups{};

  QuarantinePolicy quarantine{};  ///< for each capsule by itself
  /// How long one capsule may take over one frame; 0: any time. The frame then goes on without it,
  /// with an error (deadline_exceeded) in its record; a log line tells what the capsule is at work
  /// on; and until it comes back, it is left out of this stream's frames in the same way.
  std::chrono::nanoseconds capsule_deadline{0};
};

/// How a capsule is replaced. Handed over to Pipeline::replace_capsule. Thread safety: value.
struct ReplacePolicy {
  /// Whether streams go on with what the old one's states save (BaseStreamState::save), where they
  /// save anything; otherwise they begin anew.
  bool keep_state = true;
  /// Frames, over all streams, that the new one must not fail on: where it fails on one, all
  /// streams go back to the old one from their next frame on, which a log line says. 0: no trial.
  std::int64_t trial_frames = 0;
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
  std::int64_t slices = 0;                            ///< 0: it was not cut
  std::string not_sliced{};              ///< why, where it was to be cut if that was possible
  bool ended = false;                    ///< no frame will follow
  std::optional<std::string> failure{};  ///< why it ended before its source did
  std::exception_ptr failure_cause{};    ///< the same, to be rethrown
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
