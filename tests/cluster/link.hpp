// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "support/loopback_port.hpp"

namespace vcap::test {

/// A network between clients and a server on 127.0.0.1, which a test cuts, stops or slows down.
/// Thread safety: thread-safe.
class Link {
 public:
  explicit Link(std::uint16_t target) : target_(target), acceptor_([this] { accept_clients(); }) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    ending_ = true;
    set(State::open);
    ::shutdown(listener_.descriptor(), SHUT_RDWR);
    acceptor_.join();
    cut_all();
    for (Connection& connection : connections_) {
      connection.up.join();
      connection.down.join();
      ::close(connection.client);
      ::close(connection.server);
    }
  }

  std::string url() const { return "nats://127.0.0.1:" + std::to_string(listener_.port()); }

  /// Ends all connections, and refuses new ones, until mend().
  void cut() {
    set(State::cut);
    cut_all();
  }
  /// Keeps the connections, but nothing goes through, until mend().
  void stop() { set(State::stopped); }
  void mend() { set(State::open); }
  /// What is sent arrives so much later.
  void set_delay(std::chrono::milliseconds delay) { delay_ = delay; }

 private:
  enum class State { open, stopped, cut };
  struct Connection {
    int client = -1;
    int server = -1;
    std::thread up{};
    std::thread down{};
  };

  void set(State state) {
    const std::lock_guard lock(mutex_);
    state_ = state;
    changed_.notify_all();
  }
  void cut_all() {
    const std::lock_guard lock(mutex_);
    for (const Connection& connection : connections_) {
      ::shutdown(connection.client, SHUT_RDWR);
      ::shutdown(connection.server, SHUT_RDWR);
    }
  }

  void accept_clients() {
    for (;;) {
      const int client = ::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0 && errno == EINTR) continue;
      if (client < 0 || ending_) {
        if (client >= 0) ::close(client);
        return;
      }
      const std::lock_guard lock(mutex_);
      const int server = state_ == State::cut ? -1 : connect();
      if (server < 0) {
        ::close(client);
        continue;
      }
      connections_.push_back({.client = client, .server = server});
      Connection& made = connections_.back();
      made.up = std::thread([this, client, server] { forward(client, server); });
      made.down = std::thread([this, client, server] { forward(server, client); });
    }
  }

  int connect() const {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(target_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return server;
    ::close(server);
    return -1;
  }

  void forward(int from, int to) {
    std::array<char, 16'384> bytes{};
    for (;;) {
      ssize_t size = ::recv(from, bytes.data(), bytes.size(), 0);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      if (const auto delay = delay_.load(); delay.count() > 0) std::this_thread::sleep_for(delay);
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return state_ != State::stopped; });
      }
      for (const char* at = bytes.data(); size > 0;) {
        const ssize_t sent = ::send(to, at, static_cast<std::size_t>(size), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) break;
        at += sent;
        size -= sent;
      }
      if (size > 0) break;
    }
    ::shutdown(from, SHUT_RDWR);
    ::shutdown(to, SHUT_RDWR);
  }

  const std::uint16_t target_;
  const SilentListener listener_;
  std::atomic<bool> ending_ = false;
  std::atomic<std::chrono::milliseconds> delay_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::open;
  std::list<Connection> connections_;
  std::thread acceptor_;  ///< the last one, since it uses the others
};

}  // namespace vcap::test
