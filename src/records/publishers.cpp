// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/publishers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "files/url.hpp"
#include "records/message_protocols.hpp"
#include "records/message_pump.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Of a topic, by the protocols.
constexpr std::size_t kLongestMqttTopic = 65'535;
constexpr std::size_t kLongestKafkaTopic = 249;

void require_setting(bool right, const std::string& value, const std::string& allowed) {
  if (!right) throw InvalidArgument(ErrorCode::invalid_argument, value + ' ' + allowed);
}

void check_timeout(const char* settings, std::chrono::milliseconds timeout) {
  require_setting(timeout >= std::chrono::milliseconds(1) && timeout <= std::chrono::hours(24),
                  std::string(settings) + "::timeout: " + std::to_string(timeout.count()) + " ms",
                  "is not within 1 ms to 1 day");
}

void check_certificates(const std::string& path) {
  std::error_code unknown;
  if (!path.empty() && !std::filesystem::is_regular_file(path, unknown))
    throw OutputError(ErrorCode::output_open,
                      "the file of certificates " + path + " does not exist; give a PEM file");
}

void check(const MqttSettings& settings) {
  require_setting(!settings.host.empty(), "MqttSettings::host:", "is empty; give the broker's");
  require_setting(
      !settings.topic.empty() && settings.topic.size() <= kLongestMqttTopic &&
          settings.topic.find_first_of(std::string_view("+#\0", 3)) == std::string::npos &&
          find_invalid_utf8(settings.topic) == std::string_view::npos,
      "MqttSettings::topic: " + quote(settings.topic),
      "is no topic; it must be text without + and #, not empty");
  check_timeout("MqttSettings", settings.timeout);
  check_certificates(settings.certificates);
}

bool is_kafka_topic(const std::string& topic) {
  const auto is_allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  return !topic.empty() && topic.size() <= kLongestKafkaTopic && topic != "." && topic != ".." &&
         std::ranges::all_of(topic, is_allowed);
}

void check(const KafkaSettings& settings) {
  require_setting(!settings.servers.empty(),
                  "KafkaSettings::servers:", "is empty; give HOST:PORT of one or more brokers");
  require_setting(is_kafka_topic(settings.topic), "KafkaSettings::topic: " + quote(settings.topic),
                  "is no topic; it must be 1 to 249 letters, digits, '.', '_' or '-'");
  constexpr std::array<std::string_view, 3> kMechanisms{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"};
  require_setting(std::ranges::find(kMechanisms, settings.mechanism) != kMechanisms.end(),
                  "KafkaSettings::mechanism: " + quote(settings.mechanism),
                  "is not one of " + quote_list(kMechanisms));
  check_timeout("KafkaSettings", settings.timeout);
  check_certificates(settings.certificates);
}

void check(const WebhookSettings& settings) {
  const std::string shown = without_password(settings.url);
  require_setting((settings.url.starts_with("http://") || settings.url.starts_with("https://")) &&
                      !host_of(settings.url).empty(),
                  "WebhookSettings::url: " + quote(shown), "is not http://HOST… or https://HOST…");
  check_timeout("WebhookSettings", settings.timeout);
  check_certificates(settings.certificates);
}

std::unique_ptr<Publisher> start_publisher(std::string name, const SpoolSettings& spool,
                                           std::unique_ptr<MessageSender> sender,
                                           PublishPolicy policy) {
  return std::make_unique<Publisher>(
      MessagePump::start(std::move(name), spool, std::move(sender), std::move(policy)));
}

}  // namespace

std::unique_ptr<Publisher> make_mqtt_publisher(const MqttSettings& settings,
                                               const SpoolSettings& spool, PublishPolicy policy) {
  check(settings);
  const std::string port = settings.port == 0 ? "" : ':' + std::to_string(settings.port);
  return start_publisher(
      (settings.tls ? "mqtts://" : "mqtt://") + settings.host + port + '/' + settings.topic, spool,
      message_protocols().mqtt(settings), std::move(policy));
}

std::unique_ptr<Publisher> make_kafka_publisher(const KafkaSettings& settings,
                                                const SpoolSettings& spool, PublishPolicy policy) {
  check(settings);
  return start_publisher(
      (settings.tls ? "kafkas://" : "kafka://") + settings.servers + '/' + settings.topic, spool,
      message_protocols().kafka(settings), std::move(policy));
}

std::unique_ptr<Publisher> make_webhook_publisher(const WebhookSettings& settings,
                                                  const SpoolSettings& spool,
                                                  PublishPolicy policy) {
  check(settings);
  return start_publisher(without_password(settings.url), spool,
                         message_protocols().webhook(settings), std::move(policy));
}

}  // namespace vcap
