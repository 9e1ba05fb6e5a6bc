// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cluster/record_batch.hpp"

namespace vcap {

/// Keeps the last messages of records that the broker has taken, up to a number of bytes, because a
/// broker may lose some that it has acknowledged: nats-server 2.9.10 does so after a full disk.
/// Thread safety: thread-compatible.
class SentRecords {
 public:
  struct Message {
    std::uint64_t sequence = 0;  ///< in the spool
    std::string body{};
  };

  explicit SentRecords(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Keeps a message behind those that the owner has sent before.
  void add(const StreamEpoch& epoch, std::uint64_t sequence, std::string body);
  /// An owner's messages after `sequence`, in order.
  std::vector<Message> after(const StreamEpoch& epoch, std::uint64_t sequence) const;
  /// Whether there were some after `sequence` that are not kept any more.
  bool has_dropped_after(const StreamEpoch& epoch, std::uint64_t sequence) const;
  void forget(const StreamEpoch& epoch);

 private:
  struct Lane {
    std::deque<Message> messages{};
    std::uint64_t dropped = 0;  ///< the last sequence that is not kept any more
  };
  void drop_oldest();

  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::map<StreamEpoch, Lane> lanes_;
  /// Whose message is the oldest, the second oldest and so on.
  std::deque<StreamEpoch> order_;
};

}  // namespace vcap
