// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/cluster/cluster.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// A camera that a cluster's site watches all the time. Thread safety: value.
struct ClusterStream {
  /// A capsule that the stream goes through.
  struct CapsuleFile {
    std::string path{};
    JsonValue config = JsonValue::object();         ///< LoadOptions::config
    JsonValue options = JsonValue::object();        ///< values by their names
    JsonValue stream_config = JsonValue::object();  ///< StreamConfig::config
  };

  std::string id{};      ///< 1 to 128 bytes; unique in the site
  std::string source{};  ///< as open_source() takes it; every worker must reach it by this name
  std::vector<CapsuleFile> capsules{};
  /// Only workers that have all of these run it (WorkerSettings::labels).
  std::set<std::string> labels{};
  /// How much of a worker's capacity it takes, in cores, until that is measured. Absent: 0.25.
  std::optional<double> load{};
  std::int64_t keep_every = 1;  ///< StreamConfig::keep_every
  /// StreamConfig::capsule_deadline.
  std::chrono::nanoseconds capsule_deadline = std::chrono::seconds(10);
  /// How long the source may be silent (SourceOptions::silence_limit).
  std::chrono::milliseconds silence_limit{5'000};
  std::int64_t max_pixels = 67'108'864;  ///< SourceOptions::max_pixels
};

/// What a stream of a site does now. Thread safety: value.
struct ClusterStreamStatus {
  enum class State {
    waiting,   ///< no worker runs it; `reason` says why
    running,   ///< `worker` runs it
    ended,     ///< its source has ended
    removing,  ///< it is to be removed, and `worker` still has it
    invalid,   ///< its message cannot be read
  };

  std::string id{};
  State state = State::waiting;
  std::string source{};    ///< without passwords
  std::string worker{};    ///< empty: none
  std::int64_t epoch = 0;  ///< counts its owners, from 1
  double load = 0;         ///< in cores
  std::set<std::string> labels{};
  std::vector<std::string> capsules{};  ///< their digests
  std::string reason{};
};

VCAP_EXPORT std::string_view to_string(ClusterStreamStatus::State state) noexcept;

/// Adds a stream to the site, and sends its capsules: workers then share the streams. `load`: how
/// the manifests of the capsules are read. `replace`: also if there is a stream with the id, which
/// then goes on as this one. Throws InvalidArgument for values that are not valid, or if there is a
/// stream with the id; what load_capsule() throws; ClusterError. Thread-safe.
VCAP_EXPORT void add_cluster_stream(Cluster& cluster, const ClusterStream& stream,
                                    const LoadOptions& load = {}, bool replace = false);

/// Removes a stream; its worker ends it soon. Its records stay. Throws InvalidArgument if there is
/// no such stream; ClusterError. Thread-safe.
VCAP_EXPORT void remove_cluster_stream(Cluster& cluster, const std::string& id);

/// The streams of the site, by their ids. Throws ClusterError. Thread-safe.
VCAP_EXPORT std::vector<ClusterStreamStatus> cluster_streams(Cluster& cluster);

}  // namespace vcap
