// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <random>
#include <set>
#include <system_error>

namespace vcap::test {

/// A socket that listens on a free port of 127.0.0.1. It accepts connections, as the system does
/// for it, and never answers.
class SilentListener {
 public:
  SilentListener() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(descriptor_, 16) != 0 ||
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::system_error(errno, std::generic_category(), "a port");
    port_ = ntohs(address.sin_port);
  }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;
  ~SilentListener() { ::close(descriptor_); }

  std::uint16_t port() const { return port_; }
  /// For a test that accepts connections itself.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::uint16_t port_ = 0;
};

/// A port of 127.0.0.1 on which nothing listens, and that the system gives to no connection (those
/// begin at 32768): it is still free when its server is started, or started again. Never the same
/// one twice.
inline std::uint16_t free_port() {
  static std::mt19937 random{std::random_device()()};
  static std::set<std::uint16_t> given;
  for (;;) {
    const auto port = std::uniform_int_distribution<std::uint16_t>(10'000, 32'000)(random);
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_free =
        ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    if (is_free && given.insert(port).second) return port;
  }
}

}  // namespace vcap::test
