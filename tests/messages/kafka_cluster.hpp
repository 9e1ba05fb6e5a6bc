// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/bounded_wait.hpp"

namespace vcap::test {

/// librdkafka's mock of a cluster, with one broker on 127.0.0.1, and a reader of a topic with one
/// partition.
class KafkaCluster {
 public:
  struct Message {
    std::string key{};
    std::string id{};  ///< its header
    std::string body{};
  };

  explicit KafkaCluster(const std::string& topic) : topic_(topic), owner_(make(RD_KAFKA_PRODUCER)) {
    cluster_ = rd_kafka_mock_cluster_new(owner_, 1);
    if (cluster_ == nullptr ||
        rd_kafka_mock_topic_create(cluster_, topic.c_str(), 1, 1) != RD_KAFKA_RESP_ERR_NO_ERROR)
      throw std::runtime_error("librdkafka makes no mock cluster");
  }
  KafkaCluster(const KafkaCluster&) = delete;
  KafkaCluster& operator=(const KafkaCluster&) = delete;
  ~KafkaCluster() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(owner_);
  }

  std::string servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  void take_away() { rd_kafka_mock_broker_set_down(cluster_, 1); }
  void bring_back() { rd_kafka_mock_broker_set_up(cluster_, 1); }
  /// The next request to store messages is answered with that error.
  void refuse_next(rd_kafka_resp_err_t error) {
    constexpr std::int16_t kProduce = 0;
    rd_kafka_mock_push_request_errors(cluster_, kProduce, 1, error);
  }

  /// The messages from the first on until `enough` says so.
  template <class Enough>
  std::vector<Message> read_until(Enough enough) const {
    rd_kafka_t* const reader = make(RD_KAFKA_CONSUMER, servers());
    rd_kafka_topic_partition_list_t* const parts = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(parts, topic_.c_str(), 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(reader, parts);
    rd_kafka_topic_partition_list_destroy(parts);
    std::vector<Message> messages;
    yield_until("messages in Kafka", [&] {
      rd_kafka_message_t* const message = rd_kafka_consumer_poll(reader, 100);
      if (message == nullptr) return false;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) messages.push_back(copy(*message));
      rd_kafka_message_destroy(message);
      return enough(messages);
    });
    rd_kafka_consumer_close(reader);
    rd_kafka_destroy(reader);
    return messages;
  }

 private:
  static rd_kafka_t* make(rd_kafka_type_t type, const std::string& servers = "") {
    std::array<char, 512> why{};
    rd_kafka_conf_t* const config = rd_kafka_conf_new();
    if (type == RD_KAFKA_CONSUMER) {
      rd_kafka_conf_set(config, "group.id", "reader", why.data(), why.size());
      rd_kafka_conf_set(config, "bootstrap.servers", servers.c_str(), why.data(), why.size());
    }
    rd_kafka_conf_set_log_cb(config, [](const rd_kafka_t*, int, const char*, const char*) {});
    rd_kafka_t* const made = rd_kafka_new(type, config, why.data(), why.size());
    if (made == nullptr) throw std::runtime_error(why.data());
    return made;
  }
  static Message copy(const rd_kafka_message_t& message) {
    Message copy{.key = std::string(static_cast<const char*>(message.key), message.key_len),
                 .body = std::string(static_cast<const char*>(message.payload), message.len)};
    rd_kafka_headers_t* headers = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
        rd_kafka_header_get_last(headers, "vcap-message-id", &value, &size) ==
            RD_KAFKA_RESP_ERR_NO_ERROR)
      copy.id.assign(static_cast<const char*>(value), size);
    return copy;
  }

  const std::string topic_;
  rd_kafka_t* const owner_;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

}  // namespace vcap::test
