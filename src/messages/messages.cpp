// SPDX-License-Identifier: Apache-2.0
#include "messages/senders.hpp"
#include "records/message_protocols.hpp"

namespace vcap {
namespace {

class Protocols final : public MessageProtocols {
 public:
  std::unique_ptr<MessageSender> mqtt(const MqttSettings& settings) const override {
    return make_mqtt_sender(settings);
  }
  std::unique_ptr<MessageSender> kafka(const KafkaSettings& settings) const override {
    return make_kafka_sender(settings);
  }
  std::unique_ptr<MessageSender> webhook(const WebhookSettings& settings) const override {
    return make_webhook_sender(settings);
  }
};

}  // namespace
}  // namespace vcap

extern "C" VCAP_EXPORT const vcap::MessageProtocols* vcap_messages_1();
const vcap::MessageProtocols* vcap_messages_1() {
  static const vcap::Protocols protocols;
  return &protocols;
}
