// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/object_store.hpp"

namespace vcap {

/// A stream as workers see it. Thread safety: value.
struct StreamMessage {
  struct CapsuleObject {
    std::string name{};
    ObjectReference object{};
    nlohmann::json config{};
    nlohmann::json options{};
    nlohmann::json stream_config{};

    bool operator==(const CapsuleObject& other) const;
  };

  bool is_removed = false;  ///< it is to end
  std::string source{};
  std::vector<CapsuleObject> capsules{};
  std::set<std::string> labels{};
  double load = 0;  ///< in cores, until it is measured
  std::int64_t keep_every = 1;
  std::chrono::nanoseconds capsule_deadline{0};
  std::chrono::milliseconds silence_limit{0};
  std::int64_t max_pixels = 0;
};
/// As JSON, "vcap.stream/1".
std::string to_message(const StreamMessage& stream);
/// Throws ClusterError (invalid_message).
StreamMessage read_stream_message(const std::string& message);

/// Who owns a stream. It is replaced by compare-and-swap, so only one process claims an epoch.
/// Thread safety: value.
struct OwnerMessage {
  enum class State {
    running,
    released,  ///< nobody has it; the next owner claims the next epoch
    ended,     ///< its source has ended
    /// Its owners died one after the other, so nobody runs it for a while.
    quarantined,
  };
  /// What the capsules' states have saved.
  struct Checkpoint {
    ObjectReference object{};
    std::int64_t frame_index = 0;  ///< the last record before it
  };

  State state = State::released;
  std::string worker{};
  std::string session{};         ///< of the worker's process
  std::uint64_t epoch = 0;       ///< counts the owners, from 1
  std::uint64_t stream = 0;      ///< the sequence of the StreamMessage that it runs
  int deaths = 0;                ///< owners in a row that died soon after they had begun
  std::optional<double> load{};  ///< measured, in cores
  std::optional<Checkpoint> checkpoint{};
  std::string reason{};  ///< why it has ended or was released
};
/// As JSON, "vcap.owner/1".
std::string to_message(const OwnerMessage& owner);
/// Throws ClusterError (invalid_message).
OwnerMessage read_owner_message(const std::string& message);

/// What a worker says of itself with every heartbeat. Thread safety: value.
struct WorkerMessage {
  std::string session{};  ///< a UUID of its process
  bool has_ended = false;
  std::string host{};
  std::string version{};              ///< of vcap
  std::chrono::nanoseconds lease{0};  ///< without a heartbeat for so long, it has died
  double capacity = 0;                ///< in cores
  std::set<std::string> labels{};
  /// Streams that it cannot run now, with the reasons.
  std::map<std::string, std::string> unfit{};
  std::map<std::string, std::string> troubles{};         ///< of streams that it runs
  nlohmann::json statistics = nlohmann::json::object();  ///< numbers, which status sums
  // Optional in the message.
  std::size_t slots = 0;  ///< for slices of jobs; 0: not known
  std::string view{};     ///< the URL of the live view of its streams; empty: none
};
/// As JSON, "vcap.worker/1".
std::string to_message(const WorkerMessage& worker);
/// Throws ClusterError (invalid_message).
WorkerMessage read_worker_message(const std::string& message);

/// What an operator wants of a worker. Thread safety: value.
struct OrderMessage {
  bool drain = false;  ///< it gives its streams away, and takes no more work
};
/// As JSON, "vcap.order/1".
std::string to_message(const OrderMessage& order);
/// Throws ClusterError (invalid_message).
OrderMessage read_order_message(const std::string& message);

}  // namespace vcap
