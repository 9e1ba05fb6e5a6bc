// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/records/publisher.hpp"

namespace vcap {

// Publishers by protocol (docs/messages.md). The libraries of the protocols are loaded with the
// first of them. All factories throw InvalidArgument for a setting that is not valid, and
// OutputError (output_open) if the spool cannot be opened, a certificate or the library
// libvcap_messages cannot be loaded; not if the receiver cannot be reached. All are thread-safe.
// Passwords and secrets are in no log and no message.

/// A broker that speaks MQTT 5 or 3.1.1. Messages are published with QoS 1, and are delivered when
/// the broker has acknowledged them. Thread safety: value.
struct MqttSettings {
  std::string host{};
  std::uint16_t port = 0;  ///< 0: 1883, or 8883 with TLS
  /// `{stream}` is replaced by the stream's id, with `_` for /, + and #.
  std::string topic{};
  bool tls = false;
  std::string certificates{};  ///< a PEM file of the authorities to trust; empty: the system's
  std::string user{};          ///< empty: none
  std::string password{};
  /// Without an answer for so long, sending has failed. From 1 ms to 1 day.
  std::chrono::milliseconds timeout{30'000};
};

/// Kafka. The producer is idempotent, the key of a message is its stream's id, and the header
/// `vcap-message-id` its id. Thread safety: value.
struct KafkaSettings {
  std::string servers{};  ///< "HOST:PORT,HOST:PORT": brokers to ask first
  std::string topic{};
  bool tls = false;
  std::string certificates{};  ///< as above
  std::string user{};          ///< empty: none; else by SASL
  std::string password{};
  std::string mechanism{"PLAIN"};             ///< of SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
  std::chrono::milliseconds timeout{30'000};  ///< as above
};

/// An HTTP server. Each message is the body of one POST. An answer of 2xx means that it is
/// delivered, one of 4xx except 408 and 429 that it is refused; after others it is sent again.
/// Redirects are not followed. Thread safety: value.
struct WebhookSettings {
  std::string url{};  ///< http:// or https://
  /// The header Vcap-Signature has `sha256=` and the HMAC-SHA256 of the body with it, in
  /// hexadecimal digits. Empty: there is no such header.
  std::string secret{};
  std::string certificates{};                 ///< as above
  std::chrono::milliseconds timeout{30'000};  ///< of one request, as above
};

VCAP_EXPORT std::unique_ptr<Publisher> make_mqtt_publisher(const MqttSettings& settings,
                                                           const SpoolSettings& spool,
                                                           PublishPolicy policy = {});
VCAP_EXPORT std::unique_ptr<Publisher> make_kafka_publisher(const KafkaSettings& settings,
                                                            const SpoolSettings& spool,
                                                            PublishPolicy policy = {});
VCAP_EXPORT std::unique_ptr<Publisher> make_webhook_publisher(const WebhookSettings& settings,
                                                              const SpoolSettings& spool,
                                                              PublishPolicy policy = {});

}  // namespace vcap
