// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/broker.hpp"

namespace vcap {

/// A message in a stream. Thread safety: value.
struct StoredMessage {
  std::string subject{};
  std::string body{};
  std::uint64_t sequence = 0;
  std::chrono::nanoseconds time{0};  ///< when it was stored, by the server's time since 1970
};

/// By how much the sequences of a stream's messages may differ among servers: those of nats-server
/// 2.9.10 do, by a few.
constexpr std::uint64_t kMostDrift = 1'000;

/// A place in a stream: behind the message with that sequence. Thread safety: value.
struct StreamPlace {
  std::uint64_t sequence = 0;
  std::chrono::nanoseconds time{0};  ///< when that message was stored, since 1970; 0: not known
};

/// A message that a consumer has delivered. Thread safety: value.
struct DeliveredMessage {
  std::string subject{};
  std::string body{};
  std::uint64_t sequence = 0;           ///< in the stream
  std::uint64_t consumer_sequence = 0;  ///< of this delivery, from 1
  std::uint64_t deliveries = 0;         ///< of this message, with this one
  std::uint64_t pending = 0;            ///< messages that the consumer has not delivered yet
  std::int64_t time = 0;                ///< when it was stored, in ns since 1970
  std::string acknowledge{};            ///< the subject for its acknowledgement
};

/// JetStream's operations, as requests to its API subjects
/// (https://docs.nats.io/reference/reference-protocols/nats_api_reference).
///
/// An operation that gets no answer is repeated until ClusterSettings::patience has passed, and has
/// its effect once. All throw ClusterError: broker_unreachable if there was no answer, in which
/// case the operation may or may not have taken effect; broker_refused for an error of the server.
/// Borrows the broker. Thread safety: thread-safe.
class JetStream {
 public:
  /// After a request of `stop`, no operation is repeated, and requests wait only briefly.
  JetStream(Broker& broker, const ClusterSettings& settings, std::stop_token stop = {});

  /// Stores a message. `last`: the sequence that the subject's last message must have, 0 if there
  /// must be none; absent: any. Returns its sequence; `nullopt` if the last message is another one,
  /// or if the stream keeps only the first message of each subject and has one.
  std::optional<std::uint64_t> store(const std::string& subject, const std::string& body,
                                     std::optional<std::uint64_t> last = std::nullopt);
  /// A message to store with others.
  struct NewMessage {
    std::string subject{};
    std::string body{};
    std::optional<std::uint64_t> last{};  ///< as for store()
  };
  /// The same for many, without waiting for each. Returns what store() gives for each. Borrows the
  /// bodies; if it throws, some are empty.
  std::vector<std::optional<std::uint64_t>> store_each(std::span<NewMessage> messages);
  /// Stores a message in place of all others of its subject; the stream must allow that.
  void store_last(const std::string& subject, const std::string& body);

  /// The last message of a subject, as the stream's leader has it.
  std::optional<StoredMessage> last(const std::string& stream, const std::string& subject);
  /// The first message of a subject whose sequence is at least `from`.
  std::optional<StoredMessage> next(const std::string& stream, const std::string& subject,
                                    std::uint64_t from);
  /// All messages whose subject matches, in their order. A subject whose message is replaced
  /// meanwhile may come twice.
  std::vector<StoredMessage> all(const std::string& stream, const std::string& filter);
  /// The same one after the other, without keeping them. If the server does not answer within
  /// ClusterSettings::patience, some may have been visited.
  void each(const std::string& stream, const std::string& filter,
            const std::function<void(const StoredMessage&)>& visit);
  /// How many they are.
  std::uint64_t count(const std::string& stream, const std::string& filter);
  /// The place behind the stream's last message.
  StreamPlace end(const std::string& stream);
  std::uint64_t last_sequence(const std::string& stream) { return end(stream).sequence; }
  /// Removes a message. False if it does not exist.
  bool erase(const std::string& stream, std::uint64_t sequence);
  /// Removes all messages whose subject matches.
  void purge(const std::string& stream, const std::string& filter);
  /// The server's time, since 1970, now or at most a round trip ago.
  std::chrono::nanoseconds time(const std::string& stream);

  /// Whether JetStream is enabled for this login. `is_expected`: whether to wait for an answer as
  /// for others, although none may come.
  bool is_enabled(bool is_expected);
  /// A request to the API; `what`: for errors. Returns the answer, which may have an "error".
  nlohmann::json ask(const std::string& operation, const nlohmann::json& request);
  /// The same; throws ClusterError (broker_refused) for an error.
  nlohmann::json demand(const std::string& operation, const nlohmann::json& request);

  /// What a consumer delivers within `wait`, at most `most`. Throws ClusterError (object_missing)
  /// if there is no such consumer.
  std::vector<DeliveredMessage> fetch(const std::string& stream, const std::string& consumer,
                                      std::size_t most, std::chrono::milliseconds wait);
  /// How many messages a consumer has not delivered yet. Throws as fetch().
  std::uint64_t pending(const std::string& stream, const std::string& consumer);
  /// Sends `+ACK`, `-NAK`, `+WPI` or `+TERM` for a delivered message; does not wait.
  void answer(const DeliveredMessage& message, const std::string& answer);

  Broker& broker() noexcept { return broker_; }

 private:
  template <class Operation>
  auto with_patience(const Operation& operation);
  BrokerMessage request(const BrokerMessage& message);
  /// A message of publication(), which may have been sent before.
  std::optional<std::uint64_t> store(BrokerMessage message);
  std::optional<StoredMessage> get(const std::string& stream, const std::string& subject,
                                   const nlohmann::json& which);

  Broker& broker_;
  const std::chrono::milliseconds timeout_;
  const std::chrono::milliseconds patience_;
  const std::stop_token stop_;
};

/// The same settings, with which an operation fails after its first try.
ClusterSettings without_patience(ClusterSettings settings);

/// Reads the messages of a stream whose subjects match, from the first one, in their order, each
/// once; also over the loss of a server. If the stream has lost its last messages, goes on with
/// what was stored later than the last one that was read. Borrows JetStream. Thread safety:
/// thread-compatible.
class StreamReader {
 public:
  /// `filter`: subjects, with wildcards; empty: all. `after`: where it begins. If the stream has
  /// not so many messages, it begins with what was stored later. Throws ClusterError.
  StreamReader(JetStream& jet_stream, std::string stream, std::string filter,
               StreamPlace after = {});
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  /// The next messages: returns when there are `most`, or with fewer after `wait`. Throws
  /// ClusterError.
  std::vector<StoredMessage> next(std::size_t most, std::chrono::milliseconds wait);
  /// How many there were after those that were read, when the last one of them was delivered.
  std::uint64_t pending() const noexcept { return pending_; }
  /// The sequence of the last message that was read.
  std::uint64_t last() const noexcept { return last_.sequence; }
  /// Asks the server again.
  void update_pending();
  /// Whether its consumer was made anew, on another server perhaps, which may have passed over
  /// messages.
  bool was_renewed() const noexcept { return consumers_ > 1; }
  /// When the server began to read, in its time since 1970.
  std::chrono::nanoseconds created() const noexcept { return created_; }

 private:
  void create();
  void remove_consumer() noexcept;

  JetStream& jet_stream_;
  const std::string stream_;
  const std::string filter_;
  StreamPlace last_;
  std::uint64_t read_ = 0;  ///< from this consumer
  std::uint64_t pending_ = 0;
  std::chrono::nanoseconds created_{0};
  std::string consumer_{};
  std::uint64_t consumers_ = 0;                    ///< that were made
  bool has_gap_ = false;                           ///< something that was delivered did not arrive
  std::chrono::steady_clock::time_point heard_{};  ///< when it was made, or gave something
};

/// Reads what a consumer has delivered. Throws ClusterError (invalid_message) for another message.
DeliveredMessage delivered(BrokerMessage message);

}  // namespace vcap
