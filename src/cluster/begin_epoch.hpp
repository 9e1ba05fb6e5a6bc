// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cluster/jet_stream.hpp"
#include "cluster/record_batch.hpp"
#include "cluster/site.hpp"

namespace vcap {

/// An owner that begins to publish. Thread safety: value.
struct NewEpoch {
  StreamEpoch epoch{};
  std::string worker{};
  /// The broker's time since 1970.
  std::function<std::chrono::nanoseconds()> time{};
};

/// Stores the message with which an owner begins, and says in `begin` where its frames do: behind
/// all records of earlier owners. Returns the message's sequence; `nullopt` if a later owner has
/// begun.
///
/// Also if the broker takes a record of the owner before at the same time. With replicas,
/// nats-server before 2.9.21 compares a message's expected sequence only with those that all
/// replicas have, so it may take two messages with the same one
/// (https://github.com/nats-io/nats-server/issues/4320). So this looks what came in between.
/// Throws ClusterError: broker_unreachable also if the broker has lost the message meanwhile.
std::optional<std::uint64_t> begin_epoch(JetStream& jet_stream, const Site& site,
                                         const NewEpoch& epoch, EpochBegin& begin);

}  // namespace vcap
