// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "records/message_sender.hpp"
#include "vcap/records/publishers.hpp"

namespace vcap {

// As MessageProtocols says.

std::unique_ptr<MessageSender> make_mqtt_sender(const MqttSettings& settings);
std::unique_ptr<MessageSender> make_kafka_sender(const KafkaSettings& settings);
std::unique_ptr<MessageSender> make_webhook_sender(const WebhookSettings& settings);

}  // namespace vcap
