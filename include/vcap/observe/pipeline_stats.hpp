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
#include "vcap/records/sink.hpp"

namespace vcap {

/// What became of one open stream's frames so far. Thread safety: value.
struct StreamStats {
  std::string id{};
  std::string source{};   ///< SourceInfo::description
  std::int64_t read = 0;  ///< frames that the source gave: recorded, dropped and in flight
  std::int64_t recorded = 0;
  std::map<std::string, std::int64_t> drops{};        ///< by reason (docs/records.md)
  std::int64_t errors = 0;                            ///< records in which a capsule failed
  std::map<std::string, std::int64_t> quarantined{};  ///< frames left out, by capsule
  std::int64_t overdue = 0;      ///< frames that went on without a capsule past its deadline
  std::size_t waiting = 0;       ///< read, and no capsule has begun them
  std::size_t in_flight = 0;     ///< read and not recorded, those that wait included
  double frames_per_second = 0;  ///< recorded, over the last ten seconds
  Histogram latency_ns{};        ///< of each record, from its frame's reading to the last sink
  /// Of the stream's sinks, in their order: nothing for one that does not count. What a sink counts
  /// that streams share is the same in each of them.
  std::vector<std::optional<SinkStats>> sinks{};
  bool ended = false;
  std::optional<std::string> failure{};
};

/// What one capsule did for all streams. Thread safety: value.
struct CapsuleStats {
  std::string name{};
  int version = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;   ///< calls that threw
  double calls_per_second = 0;  ///< over the last ten seconds
  Histogram call_ns{};          ///< of each call, waits for batches included
  bool quarantined = false;     ///< for all streams (Pipeline::Settings::quarantine)
  bool replaced = false;        ///< another has taken its place; its last frames are on their way
  std::vector<BackendStatistics> backends{};
};

/// What one device does for all capsules. Thread safety: value.
struct DeviceStats {
  std::string device{};
  std::size_t running = 0;      ///< calls of capsules in progress
  std::uint64_t calls = 0;      ///< begun so far
  std::uint64_t failures = 0;   ///< calls that threw
  double calls_per_second = 0;  ///< that came back, over the last ten seconds
  Histogram call_ns{};          ///< of those that came back, waits for batches included
  std::size_t queued = 0;       ///< inputs that wait for a batch
  std::uint64_t batches = 0;    ///< predicted so far
  Histogram batch_sizes{};
  Histogram predict_ns{};
};

/// A pipeline's doings, as Pipeline::stats() finds them. Counts and histograms are of all the time
/// that a thing has been there; what came between two looks, such as a p99 of the last minute, is
/// the difference (Histogram::since). Numbers of things that move meanwhile may be some frames
/// apart. Thread safety: value.
struct PipelineStats {
  std::chrono::nanoseconds uptime{0};
  std::size_t workers = 0;  ///< threads that frames are worked on by
  std::size_t in_flight = 0;
  std::vector<StreamStats> streams{};    ///< open ones, by id
  std::vector<CapsuleStats> capsules{};  ///< in the plan's order, then those that were replaced
  std::vector<DeviceStats> devices{};    ///< by name
};

/// Times as milliseconds: mean, p50, p95, p99 and count.
VCAP_EXPORT void to_json(nlohmann::json& json, const PipelineStats& stats);

}  // namespace vcap
