// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "records/message_sender.hpp"
#include "vcap/base/export.hpp"
#include "vcap/records/publishers.hpp"

namespace vcap {

/// Senders by protocol.
///
/// Their libraries (libmosquitto, librdkafka, libcurl) bring a dozen further ones into a process.
/// So they are linked by a library of their own, libvcap_messages, which is loaded when it is first
/// used. No sender connects before it sends. Thread safety: thread-safe.
class VCAP_EXPORT MessageProtocols {
 public:
  MessageProtocols() = default;
  MessageProtocols(const MessageProtocols&) = delete;
  MessageProtocols& operator=(const MessageProtocols&) = delete;
  virtual ~MessageProtocols();

  // The settings are valid (publishers.cpp). All throw OutputError (output_open) if the protocol's
  // library does not accept them, such as a certificate.

  virtual std::unique_ptr<MessageSender> mqtt(const MqttSettings& settings) const = 0;
  virtual std::unique_ptr<MessageSender> kafka(const KafkaSettings& settings) const = 0;
  virtual std::unique_ptr<MessageSender> webhook(const WebhookSettings& settings) const = 0;
};

/// Loads libvcap_messages the first time. Throws OutputError (output_open) if it cannot be loaded.
/// Thread-safe.
const MessageProtocols& message_protocols();

}  // namespace vcap
