// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

namespace vcap::test {

struct HttpAnswer {
  int status = 0;  ///< 0: the connection was closed without an answer
  std::string head{};
  std::string body{};
};

/// A connection to a port of 127.0.0.1.
class LoopbackConnection {
 public:
  /// Reading ends after `seconds` without an answer: a server that is ending may keep a connection
  /// that it has just accepted, and never answer.
  /// `from`: the last number of this end's address, 127.0.0.1 to 127.0.0.254.
  explicit LoopbackConnection(std::uint16_t port, int seconds = 60, std::uint8_t from = 1)
      : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = seconds, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
        ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      const int error = errno;
      ::close(descriptor_);
      throw std::system_error(error, std::generic_category(), "connect");
    }
  }
  ~LoopbackConnection() { ::close(descriptor_); }
  LoopbackConnection(const LoopbackConnection&) = delete;
  LoopbackConnection& operator=(const LoopbackConnection&) = delete;

  /// False if the other end has closed the connection, as far as this end knows.
  bool send(const std::string& text) const {
    return ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) >= 0;
  }
  /// Whether the other end has closed the connection, and nothing is left to read.
  bool is_closed() const {
    char byte = 0;
    return ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  std::string read_all() const {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::recv(descriptor_, buffer.data(), buffer.size(), 0)) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(size));
    return text;
  }
  /// Reads up to and with the end of `last`; all that there is if the connection ends before.
  std::string read_through(const std::string& last) const {
    std::string text;
    char byte = 0;
    while (!text.ends_with(last) && ::recv(descriptor_, &byte, 1, 0) == 1) text += byte;
    return text;
  }
  /// What is there now, or comes next, at most so many bytes; empty at the end.
  std::string read_some(std::size_t most = 4096) const {
    std::string text(most, '\0');
    const ssize_t size = ::recv(descriptor_, text.data(), most, 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }
  /// Sends nothing more, and still reads.
  void end_sending() const { ::shutdown(descriptor_, SHUT_WR); }
  /// Neither sends nor reads any more; a read in another thread returns.
  void end() const { ::shutdown(descriptor_, SHUT_RDWR); }

 private:
  int descriptor_;
};

/// The parts of an answer as it came; no status if it has no complete head.
inline HttpAnswer http_answer_of(const std::string& text) {
  const std::size_t end = text.find("\r\n\r\n");
  const std::size_t status = text.find(' ');
  if (end == std::string::npos || status == std::string::npos) return {};
  return {.status = std::atoi(text.c_str() + status + 1),
          .head = text.substr(0, end),
          .body = text.substr(end + 4)};
}

/// Throws std::system_error if no server listens on the port.
inline HttpAnswer http_get(std::uint16_t port, const std::string& path, int seconds = 60) {
  const LoopbackConnection connection(port, seconds);
  connection.send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  return http_answer_of(connection.read_all());
}

}  // namespace vcap::test
