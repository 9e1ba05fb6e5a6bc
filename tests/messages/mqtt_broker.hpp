// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mosquitto.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/bounded_wait.hpp"
#include "support/loopback_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::test {

/// A mosquitto of its own on a port of 127.0.0.1, which a test kills and starts again.
class MqttBroker {
 public:
  /// `more`: further lines of its configuration.
  explicit MqttBroker(const std::string& more = "allow_anonymous true\n") : port_(free_port()) {
    folder_.write("mosquitto.conf", "listener " + std::to_string(port_) +
                                        " 127.0.0.1\nuser root\npersistence false\n"
                                        "log_type none\n" +
                                        more);
    start();
  }

  std::uint16_t port() const { return port_; }

  void start() {
    process_.start({"/usr/sbin/mosquitto", "-c", (folder_ / "mosquitto.conf").string()}, port_,
                   "/dev/null");
  }
  void kill() { process_.kill(); }
  /// It neither reads nor answers until it is killed.
  void hang() const { process_.hang(); }

 private:
  const TemporaryFolder folder_;
  const std::uint16_t port_;
  ServerProcess process_;
};

/// Reads all messages of a broker. Thread-safe.
class MqttReader {
 public:
  struct Message {
    std::string topic{};
    std::string body{};
  };

  MqttReader() { mosquitto_lib_init(); }
  ~MqttReader() { leave(); }
  MqttReader(const MqttReader&) = delete;
  MqttReader& operator=(const MqttReader&) = delete;

  /// Connects and returns when it is subscribed to all topics.
  void join(std::uint16_t port) {
    leave();
    {
      const std::lock_guard lock(mutex_);
      is_subscribed_ = is_lost_ = false;
    }
    client_ = mosquitto_new(nullptr, true, this);
    mosquitto_connect_callback_set(client_, [](mosquitto* client, void*, int) {
      mosquitto_subscribe(client, nullptr, "#", 0);
    });
    mosquitto_subscribe_callback_set(client_, [](mosquitto*, void* self, int, int, const int*) {
      auto& reader = *static_cast<MqttReader*>(self);
      const std::lock_guard lock(reader.mutex_);
      reader.is_subscribed_ = true;
      reader.changed_.notify_all();
    });
    mosquitto_disconnect_callback_set(client_, [](mosquitto* client, void* self, int) {
      mosquitto_disconnect(client);  // it does not connect again by itself
      auto& reader = *static_cast<MqttReader*>(self);
      const std::lock_guard lock(reader.mutex_);
      reader.is_lost_ = true;
      reader.changed_.notify_all();
    });
    mosquitto_message_callback_set(
        client_, [](mosquitto*, void* self, const mosquitto_message* message) {
          auto& reader = *static_cast<MqttReader*>(self);
          const std::lock_guard lock(reader.mutex_);
          reader.messages_.push_back(
              {message->topic, std::string(static_cast<const char*>(message->payload),
                                           static_cast<std::size_t>(message->payloadlen))});
          reader.changed_.notify_all();
        });
    if (mosquitto_connect(client_, "127.0.0.1", port, 60) != MOSQ_ERR_SUCCESS ||
        mosquitto_loop_start(client_) != MOSQ_ERR_SUCCESS)
      throw std::runtime_error("a reader cannot connect to mosquitto");
    std::unique_lock lock(mutex_);
    bounded_wait(changed_, lock, "a subscription", [this] { return is_subscribed_; });
  }
  /// Returns when it has read all that a killed broker had sent.
  void await_lost() {
    std::unique_lock lock(mutex_);
    bounded_wait(changed_, lock, "the end of a connection", [this] { return is_lost_; });
  }
  void leave() {
    if (client_ == nullptr) return;
    mosquitto_disconnect(client_);
    mosquitto_loop_stop(client_, false);
    mosquitto_destroy(client_);
    client_ = nullptr;
  }
  std::vector<Message> messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_subscribed_ = false;
  bool is_lost_ = false;
  std::vector<Message> messages_;
  mosquitto* client_ = nullptr;
};

}  // namespace vcap::test
