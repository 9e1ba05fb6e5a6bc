// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>

#include "support/loopback_port.hpp"

namespace vcap::test {

/// A broker that speaks only MQTT 3.1.1. It takes one client at a time, and acknowledges each
/// message.
class OldMqttBroker {
 public:
  OldMqttBroker() : thread_([this] { serve(); }) {}
  OldMqttBroker(const OldMqttBroker&) = delete;
  OldMqttBroker& operator=(const OldMqttBroker&) = delete;
  ~OldMqttBroker() {
    ::shutdown(listener_.descriptor(), SHUT_RDWR);
    const int client = client_.exchange(-1);
    if (client >= 0) ::shutdown(client, SHUT_RDWR);
    thread_.join();
  }

  std::uint16_t port() const { return listener_.port(); }
  int refused() const { return refused_; }
  int messages() const { return messages_; }

 private:
  void serve() {
    for (int client; (client = ::accept(listener_.descriptor(), nullptr, nullptr)) >= 0;) {
      client_ = client;
      for (std::string packet; !(packet = read_packet(client)).empty();) answer(client, packet);
      if (client_.exchange(-1) < 0) ::shutdown(client, SHUT_RDWR);
      ::close(client);
    }
  }
  /// The first byte and the content; empty at the end.
  static std::string read_packet(int client) {
    std::string packet = read(client, 1);
    std::size_t size = 0;
    for (unsigned shift = 0; !packet.empty(); shift += 7) {
      const std::string byte = read(client, 1);
      if (byte.empty()) return {};
      size |= static_cast<std::size_t>(byte[0] & 0x7f) << shift;
      if ((byte[0] & 0x80) == 0) break;
    }
    return packet.empty() ? packet : packet + read(client, size);
  }
  static std::string read(int client, std::size_t size) {
    std::string bytes(size, '\0');
    return ::recv(client, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size)
               ? bytes
               : std::string();
  }

  void answer(int client, const std::string& packet) {
    const int kind = static_cast<unsigned char>(packet[0]) >> 4;
    if (kind == 1) {  // CONNECT: its 7th byte of content is the version
      const bool is_known = packet[7] == 4;
      if (!is_known) ++refused_;
      send(client, {0x20, 2, 0, static_cast<char>(is_known ? 0 : 1)});
      if (!is_known) ::shutdown(client, SHUT_WR);
    } else if (kind == 3) {  // PUBLISH: the topic's size, the topic, the message's number
      const auto topic = static_cast<std::size_t>(packet[1] << 8 | packet[2]);
      send(client, {0x40, 2, packet[3 + topic], packet[4 + topic]});
      ++messages_;
    }
  }
  static void send(int client, const std::array<char, 4>& bytes) {
    static_cast<void>(::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
  }

  const SilentListener listener_{};
  std::atomic<int> client_ = -1;
  std::atomic<int> refused_ = 0;
  std::atomic<int> messages_ = 0;
  std::thread thread_;
};

}  // namespace vcap::test
