// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/histogram.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/media/broken_pictures.hpp"
#include "vcap/media/source_state.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

/// A snapshot of one open stream's metrics. Thread safety: value.
struct StreamStats {
  std::string id;
  std::string source;     ///< SourceInfo::description
  std::int64_t read = 0;  ///< frames that the source gave: recorded, dropped or in flight
  std::int64_t recorded = 0;
  std::map<std::string, std::int64_t> drops;  ///< by reason (docs/records.md)
  BrokenPictures broken_pictures;  ///< of the source: skipped, so not among the frames read
  /// Whether a live source is connected (Source::state). Absent for other sources, and once the
  /// source has ended.
  std::optional<SourceState> source_state;
  std::int64_t errors = 0;  ///< records with an error of a capsule, quarantine included
  std::map<std::string, std::int64_t> quarantined;  ///< frames left out, by capsule
  std::int64_t overdue = 0;      ///< frames that went on without a capsule past its deadline
  std::size_t waiting = 0;       ///< frames read that no capsule has begun
  std::size_t in_flight = 0;     ///< frames read and not recorded, waiting ones included
  double frames_per_second = 0;  ///< recorded, over the last ten seconds
  Histogram latency_ns;          ///< of each record, from reading its frame to its last sink
  /// One entry for each sink, in the stream's order; `nullopt` if the sink does not count. A sink
  /// that streams share shows the same total in each of them.
  std::vector<std::optional<SinkStats>> sinks;
  bool ended = false;
  std::optional<std::string> failure;
};

/// Metrics of one capsule over all streams. Thread safety: value.
struct CapsuleStats {
  std::string name;
  int version = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;   ///< calls that threw
  double calls_per_second = 0;  ///< over the last ten seconds
  Histogram call_ns;            ///< of each call, waiting for batches included
  /// Bound on its calls in progress (Pipeline::Settings::max_concurrent_calls); 0: none.
  std::size_t most_calls = 0;
  /// Frames, and calls for several frames, that wait because so many calls are in progress.
  std::size_t waiting = 0;
  bool quarantined = false;  ///< in all streams (Pipeline::Settings::quarantine)
  bool replaced = false;     ///< replaced by another capsule; its last frames are still in flight
  std::vector<BackendStatistics> backends;
};

/// Metrics of one device over all capsules. Thread safety: value.
struct DeviceStats {
  std::string device;
  std::size_t running = 0;      ///< calls of capsules in progress
  std::uint64_t calls = 0;      ///< calls begun
  std::uint64_t failures = 0;   ///< calls that threw
  double calls_per_second = 0;  ///< calls that ended, over the last ten seconds
  Histogram call_ns;            ///< of each call that ended, waiting for batches included
  std::size_t queued = 0;       ///< inputs that wait for a batch
  std::uint64_t batches = 0;    ///< batches predicted
  Histogram batch_sizes;
  Histogram predict_ns;
};

/// A snapshot of a pipeline's metrics (Pipeline::stats). Counts and histograms cover the whole life
/// of the stream, capsule or device. For a period, such as the p99 of the last minute, take the
/// difference of two snapshots (Histogram::since). Frames move on while the values are read, so
/// values may differ from each other by some frames. Thread safety: value.
struct PipelineStats {
  std::chrono::nanoseconds uptime{0};
  std::size_t workers = 0;  ///< frame worker threads
  std::size_t in_flight = 0;
  std::vector<StreamStats> streams;    ///< open ones, by id
  std::vector<CapsuleStats> capsules;  ///< in the plan's order, then replaced ones
  std::vector<DeviceStats> devices;    ///< by name
};

/// Times as milliseconds: mean, p50, p95, p99 and count.
VCAP_EXPORT void to_json(nlohmann::json& json, const PipelineStats& stats);

}  // namespace vcap
