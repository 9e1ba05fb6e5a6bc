// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/jet_stream.hpp"
#include "cluster/record_batch.hpp"
#include "cluster/site.hpp"
#include "vcap/cluster/cluster_records.hpp"

namespace vcap {

/// Makes records of the messages of a site's streams: in the order of each stream, each once, and
/// all of them, although messages may come twice or not at all.
///
/// A consumer gives what one server has. Those of nats-server 2.9.10 may have other sequences than
/// their leader, and take back what they have given: then a consumer that goes on behind the last
/// sequence leaves messages out. The numbers in the messages show that, and the stream's leader is
/// asked for what is missing. Borrows all. Thread safety: thread-compatible.
class RecordFollower {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// A stream without messages for so long has no next one that could show that some are missing.
  /// Longer than a consumer that stalls.
  static constexpr std::chrono::seconds kQuietTime{30};

  /// `after`: a stream's records up to this sequence are not wanted.
  RecordFollower(JetStream& jet_stream, const Site& site, std::uint64_t after);

  /// Takes a message that a consumer gave at `now`, and what is missing before it. Throws
  /// ClusterError (broker_unreachable, broker_refused); the same call again goes on.
  void take(const StoredMessage& message, Time now);
  /// From now on, asks whether a stream that it has not seen before had earlier messages.
  void doubt_first_messages() noexcept { doubts_first_ = true; }
  /// Takes what is missing of streams that have been quiet since; of some of them, if there are
  /// many. Throws as take().
  void look_at_quiet_streams(Time now);
  /// The records so far, which are taken out.
  std::vector<ClusterRecord> records() { return std::exchange(records_, {}); }

  /// Messages that are not valid.
  std::uint64_t refused() const noexcept { return refused_; }
  /// Messages that came from an owner when the next one had begun.
  std::uint64_t overtaken() const noexcept { return overtaken_; }

 private:
  struct Message {
    const StoredMessage& stored;
    std::string stream;
    RecordBatchHead head;
    std::vector<std::string> records;
    /// Else it is the begin of an epoch.
    bool has_id() const noexcept { return !head.spool.empty(); }
  };
  /// The last message of a stream, and its owner.
  struct Place {
    std::string subject{};
    StreamPlace stored{};
    RecordBatchHead head{};
    std::chrono::nanoseconds since{0};  ///< when the stream's first message was stored
    Time heard{};
    int checks = 0;  ///< how often there was nothing behind it
  };

  static Message read(const StoredMessage& message);
  const Place* place_of(const Message& message) const;
  bool is_known(const Message& message) const;
  bool is_over(const Message& message) const;
  bool is_next(const Message& message) const;
  void follow(Message message, Time now);
  void fill_gap(const Message& message, Time now);
  bool try_to_fill_gap(const Message& message, Time now);
  std::optional<std::uint64_t> begin_of_gap(const Message& message);
  std::optional<StoredMessage> next(const Message& message, std::uint64_t from);
  void add(Message message, Time now);
  void leave_out(const Message& message);

  JetStream& jet_stream_;
  const Site& site_;
  const std::uint64_t after_;
  std::uint64_t delivered_;  ///< the sequence of the last message that a consumer gave
  bool doubts_first_ = false;
  std::map<std::string, Place> places_;  ///< of each stream
  /// The last sequence of each stream in each spool.
  std::map<std::pair<std::string, std::string>, std::uint64_t> seen_;
  std::vector<ClusterRecord> records_;
  std::uint64_t refused_ = 0;
  std::uint64_t overtaken_ = 0;
};

}  // namespace vcap
