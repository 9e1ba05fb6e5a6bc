// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap {

/// A worker of a site. Thread safety: value.
struct ClusterWorkerStatus {
  enum class State {
    working,
    draining,  ///< by order: it gives its streams away, and takes no more work
    drained,   ///< the same, and it has no streams any more
    ended,     ///< it has said so
    dead,      ///< it has given no sign of life for its lease
  };

  std::string name{};
  State state = State::dead;
  std::string host{};
  std::string version{};             ///< of vcap
  std::chrono::nanoseconds seen{0};  ///< how long ago its last sign of life was
  double capacity = 0;               ///< in cores
  double load = 0;                   ///< of its streams, in cores
  std::size_t slots = 0;             ///< slices of jobs that it has in progress at once
  std::vector<std::string> streams{};
  std::set<std::string> labels{};
  std::map<std::string, std::string> unfit{};  ///< streams that it cannot run now, and why
  JsonValue statistics = JsonValue::object();  ///< its counters, by their names
  std::string view{};  ///< the URL of the live view of its streams; empty: it has none
};

VCAP_EXPORT std::string_view to_string(ClusterWorkerStatus::State state) noexcept;

/// The workers of the site, by their names, also those that have ended or died. Throws
/// ClusterError. Thread-safe.
VCAP_EXPORT std::vector<ClusterWorkerStatus> cluster_workers(Cluster& cluster);
/// The counters of all workers, summed, also of those that have ended or died.
VCAP_EXPORT std::map<std::string, std::int64_t> sum_statistics(
    const std::vector<ClusterWorkerStatus>& workers);

/// Orders a worker to give its streams to others and to take no more work, or, with `drain` false,
/// to work again. The order also holds after a restart of the worker. Throws InvalidArgument if the
/// site has no worker of that name; ClusterError. Thread-safe.
VCAP_EXPORT void drain_cluster_worker(Cluster& cluster, const std::string& name, bool drain = true);
/// Forgets a worker that has ended or died. Throws InvalidArgument if there is no such worker, or
/// it is alive; ClusterError. Thread-safe.
VCAP_EXPORT void forget_cluster_worker(Cluster& cluster, const std::string& name);

/// Something that has happened in a site. Thread safety: value.
struct ClusterEvent {
  std::chrono::nanoseconds time{0};  ///< since 1970, by the broker's clock
  std::string event{};               ///< such as "stream taken over"
  std::string by{};                  ///< the worker, or the client's host
  JsonValue details = JsonValue::object();
};

/// Reads what has happened in a site, in order. The site keeps it for a week, or as its
/// configuration says. Thread safety: thread-compatible.
class VCAP_EXPORT ClusterEventReader {
 public:
  /// With `all`, from the oldest event on, else from now on. Throws ClusterError.
  explicit ClusterEventReader(std::shared_ptr<Cluster> cluster, bool all = true);
  ~ClusterEventReader();
  ClusterEventReader(const ClusterEventReader&) = delete;
  ClusterEventReader& operator=(const ClusterEventReader&) = delete;

  /// The next events; none if none has come within `wait`. Throws ClusterError.
  std::vector<ClusterEvent> next(std::chrono::milliseconds wait);
  /// Whether there may be more that the site had before the last call.
  bool has_more() const noexcept;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
