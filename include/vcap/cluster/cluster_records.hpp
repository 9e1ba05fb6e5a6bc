// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap {

/// A record of a site's stream. Thread safety: value.
struct ClusterRecord {
  std::string stream_id{};
  std::string line{};       ///< the record, as JSON on one line (docs/records.md)
  std::string worker{};     ///< that gave it
  std::uint64_t epoch = 0;  ///< of the stream; the next owner has the next one
  /// For ClusterRecordReader::Settings::after: who begins there misses nothing, but may get some
  /// records again.
  std::uint64_t place = 0;
};

/// Reads the records of a site's streams, in the order of each stream, each once. The site keeps
/// them for a day, or as its configuration says. Thread safety: thread-compatible.
///
/// Three servers of nats-server 2.9.10 sometimes deliver records that they take back when their
/// leader changes. Then frames come again, in a later epoch, which counts. Records that the servers
/// store in their place, and would not deliver to a reader that has passed it, are asked for: when
/// the next ones of their stream come, or it has been quiet for half a minute.
class VCAP_EXPORT ClusterRecordReader {
 public:
  /// Which records are read. Thread safety: value.
  struct Settings {
    std::string stream{};  ///< only of this one; empty: of all
    /// Begins after this place; with the oldest record if the site has lost it since. 0: with the
    /// oldest record. Absent: with those that come from now on.
    std::optional<std::uint64_t> after{};
  };

  /// Throws ClusterError.
  ClusterRecordReader(std::shared_ptr<Cluster> cluster, const Settings& settings);
  ~ClusterRecordReader();
  ClusterRecordReader(const ClusterRecordReader&) = delete;
  ClusterRecordReader& operator=(const ClusterRecordReader&) = delete;

  /// The next records; none if none has come within `wait`, which is longer if it has to ask for
  /// some that are missing. Throws ClusterError: after a failure (broker_unreachable), the next
  /// call goes on.
  std::vector<ClusterRecord> next(std::chrono::milliseconds wait);
  /// Whether there may be more that the site had before the last call.
  bool has_more() const noexcept;
  /// Messages that were left out because they are not valid.
  std::uint64_t refused() const noexcept;
  /// Messages that were left out because the broker has taken them from an owner when the next one
  /// had begun. Servers of a cluster before nats-server 2.9.21 may do so.
  std::uint64_t overtaken() const noexcept;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
