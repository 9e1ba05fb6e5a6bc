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

#include "vcap/base/json_value.hpp"
#include "vcap/model/option_values.hpp"
#include "vcap/records/recorded_frames.hpp"
#include "vcap/records/sink.hpp"
#include "vcap/sources/sampler.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// What happens to frames when a source is faster than the capsules.
enum class OverflowPolicy {
  automatic,  ///< `wait` for stored sources, `drop_oldest` for live ones
  wait,       ///< the source waits; no frame is lost
  /// Drops the oldest frame that no capsule has begun; counted with reason "overload".
  drop_oldest,
  /// Drops the frame that was just read; counted likewise.
  drop_newest
};

/// When a capsule that keeps failing on a stream's frames is left out for a while. Times are frame
/// times (pts). Thread safety: value.
struct QuarantinePolicy {
  std::size_t failures = 0;  ///< failed frames within `window` that start a pause; 0: never
  std::chrono::nanoseconds window = std::chrono::seconds(10);
  /// During a pause the capsule is not called, and each record says so (code "quarantined"). Then
  /// one frame is tried. If the capsule fails on it, the next pause begins.
  std::chrono::nanoseconds pause = std::chrono::seconds(30);
};

/// Consecutive rows of a stream that run as a stream of their own. Thread safety: value.
struct StreamGroup {
  RowRange rows{};
  std::map<std::string, JsonValue> config{};  ///< by capsule; replaces the stream's config
};

/// What a capsule's state of a stream has saved, such as in a process that ran the stream before
/// (Capsule::save_state). Thread safety: value.
struct SavedState {
  JsonValue state{};
  int version = 0;  ///< of the capsule that saved it
};

/// How one stream runs. Moved into Pipeline::open_stream().
struct StreamConfig {
  /// Unique among the pipeline's streams that are not yet forgotten (wait(), close_stream()). Also
  /// unique among the streams of other pipelines that share a stateful capsule.
  std::string id{};
  std::unique_ptr<Source> source{};
  std::vector<std::shared_ptr<Sink>> sinks{};
  /// Names of the capsules that the frames go through; absent: all capsules of the pipeline.
  std::optional<std::vector<std::string>> capsules{};
  std::map<std::string, OptionValues> options{};  ///< by capsule name; absent: the defaults
  /// By capsule name; from which the stream's state or parameters are made, see
  /// CapsuleInfo::stream_config_schema.
  std::map<std::string, JsonValue> config{};
  /// By capsule name; the stream's first state in it continues from that (StreamInfo::saved), if
  /// the capsule keeps its state at the first frame's discontinuity (CapsuleInfo::keeps_state_at).
  std::map<std::string, SavedState> saved{};
  OverflowPolicy overflow = OverflowPolicy::automatic;
  /// The most frames that are read and not yet recorded; 0: enough to keep the machine busy. With
  /// `drop_oldest`, this number of frames may be begun, and one more, the newest, waits.
  std::size_t frames_in_flight = 0;
  /// Analyses one of every `keep_every` frames of the source, beginning with the first. The others
  /// are dropped with reason "skipped". At least 1.
  std::int64_t keep_every = 1;
  /// Records wait until Pipeline::next() takes them; next() also writes them to the sinks. Waiting
  /// records count as in flight.
  bool pull = false;
  std::optional<std::int64_t> max_frames{};  ///< most frames that are read, dropped ones included

  // Stored sources with `OverflowPolicy::wait` only.
  /// The frames whose records are wanted, as rows of the source; no row twice. The records are the
  /// same as in a run over all frames. For this, capsules also get the warm-up and window frames
  /// that these records need, and no others. Absent: all frames.
  std::optional<Sampler> select{};
  /// Into how many slices the stream is cut. Slices run in parallel; the records come in order and
  /// are byte for byte those of a run without slices. 0: as many as suit the machine and the
  /// capsules, or no slices (StreamReport::not_sliced). A stream is never cut if a capsule's state
  /// is unbounded.
  std::size_t slices = 1;
  /// Runs these rows as separate streams, in parallel; they may overlap. Records come one group
  /// after the other (FrameRecord::group), and indexes count from 0 in each group. Cannot be
  /// combined with `select` or `slices`.
  std::vector<StreamGroup> groups{};

  QuarantinePolicy quarantine{};  ///< for each capsule separately
  /// The longest that one capsule may take over one frame; 0: no limit. After that, the frame goes
  /// on without the capsule, and its record has an error (deadline_exceeded). A log line says what
  /// the capsule is doing. Until the call returns, the capsule is left out of this stream's later
  /// frames, with the same error. Frames that go to a capsule together (Backend::process_frames) go
  /// on together. Each slice and group of a stream counts as a stream of its own. The wait for
  /// other calls (CapsuleInfo::max_concurrent_calls) does not count.
  std::chrono::nanoseconds capsule_deadline{0};
  /// The same while a backend of the capsule makes its first call, which may include the
  /// compilation of a network; 0: as capsule_deadline. Any other value must be at least
  /// capsule_deadline, which must then be above 0.
  std::chrono::nanoseconds first_call_deadline{0};

  /// From which the states of stateful capsules are made (StreamInfo::seed). Absent: stored sources
  /// get the same one in every run, live ones another one in each.
  std::optional<std::uint64_t> seed{};
  /// For a stream that runs once more: what was recorded of each frame that the source gives. The
  /// capsules that stand in must come first in the stream's plan, and no other capsule may take
  /// their pictures. Cannot be combined with `select`, `slices` or `groups` (Replay).
  std::shared_ptr<RecordedFrames> recorded{};
};

}  // namespace vcap
