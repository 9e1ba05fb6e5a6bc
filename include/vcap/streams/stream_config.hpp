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

#include <nlohmann/json.hpp>

#include "vcap/model/option_values.hpp"
#include "vcap/records/sink.hpp"
#include "vcap/sources/sampler.hpp"
#include "vcap/sources/source.hpp"

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

}  // namespace vcap
