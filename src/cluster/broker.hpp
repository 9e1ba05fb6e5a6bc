// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap {

/// A message to or from a broker. Thread safety: value.
struct VCAP_EXPORT BrokerMessage {
  std::string subject{};
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string reply{};  ///< the subject for an answer; empty: none

  /// The value of a header; empty if it is absent.
  std::string_view header(std::string_view name) const noexcept;
  /// The status in place of a message, such as "404" for no message; empty if this is a message.
  std::string_view status() const noexcept { return header("Status"); }
};

/// What a server says about itself to whoever connects. Thread safety: value.
struct BrokerServer {
  std::string version{};
  bool has_jet_stream = false;        ///< another server of its cluster may have it all the same
  std::uint64_t largest_message = 0;  ///< in bytes
};

/// A subscription; its destructor ends it and waits for a handler in progress, unless it runs in
/// that handler.
class VCAP_EXPORT BrokerSubscription {
 public:
  BrokerSubscription() = default;
  BrokerSubscription(const BrokerSubscription&) = delete;
  BrokerSubscription& operator=(const BrokerSubscription&) = delete;
  virtual ~BrokerSubscription();
};

/// A connection to a NATS server, and to another one of its cluster if that server is lost.
/// Implemented in libvcap_nats, which is loaded when a cluster is first used, and by tests that
/// disturb messages.
///
/// All functions throw ClusterError: broker_unreachable if there is no connection, no answer in
/// time or no responder, so that a repetition may succeed; closed after close(); broker_refused
/// otherwise. Thread safety:
/// thread-safe.
class VCAP_EXPORT Broker {
 public:
  /// Called for each message, one at a time. [subscription's thread]
  using Handler = std::function<void(BrokerMessage)>;
  /// A change of the connection: empty for a new connection, else why messages may be lost.
  /// [library's thread]
  using Observer = std::function<void(const std::string& loss)>;

  Broker() = default;
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  virtual ~Broker();

  /// Sends without an answer.
  virtual void publish(const BrokerMessage& message) = 0;
  /// Sends, and waits for the answer.
  virtual BrokerMessage request(const BrokerMessage& message,
                                std::chrono::milliseconds timeout) = 0;
  /// Sends, and waits for answers, which may have any subject: until there are `most`, one is a
  /// status, which is the last one then, or none comes within the timeout after the one before.
  /// Throws if there is none at all.
  virtual std::vector<BrokerMessage> gather(const BrokerMessage& message, std::size_t most,
                                            std::chrono::milliseconds timeout) = 0;
  virtual std::unique_ptr<BrokerSubscription> subscribe(const std::string& subject,
                                                        Handler handler) = 0;
  /// A new subject for answers.
  virtual std::string new_inbox() const = 0;
  virtual bool is_connected() const = 0;
  /// The server of the connection; `nullopt` if it does not say what it is.
  virtual std::optional<BrokerServer> server() const = 0;
  /// All waiting calls fail; later calls do, too.
  virtual void close() noexcept = 0;
};

/// Connects. Loads libvcap_nats the first time. Throws ClusterError. Thread-safe.
std::unique_ptr<Broker> connect_broker(const ClusterSettings& settings, Broker::Observer observer);

/// What libvcap_nats has in its function vcap_nats_1.
using ConnectBroker = std::unique_ptr<Broker> (*)(const ClusterSettings& settings,
                                                  Broker::Observer observer);

}  // namespace vcap
