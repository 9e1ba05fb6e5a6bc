// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_listener.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::pair<std::string, std::uint16_t> host_and_port_of(const std::string& what,
                                                       const std::string& given) {
  const std::size_t colon = given.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* const end = given.data() + given.size();
    const auto [rest, error] = std::from_chars(given.data() + colon + 1, end, port);
    if (error == std::errc() && rest == end) return {given.substr(0, colon), port};
  }
  throw InvalidArgument(ErrorCode::invalid_argument,
                        what + " address " + quote(given) +
                            " is not HOST:PORT; give an address or a name, and a port from 0 to "
                            "65535, such as 127.0.0.1:9464");
}

[[noreturn]] void fail_listening(const std::string& what, const std::string& given,
                                 const std::string& why) {
  throw OutputError(ErrorCode::output_open,
                    "cannot serve " + what + " at " + printable(given) + ": " + why);
}

sockaddr_in resolve(const std::string& what, const std::string& given) {
  const auto [host, port] = host_and_port_of(what, given);
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error != 0)
    fail_listening(what, given,
                   std::string(::gai_strerror(error)) +
                       "; give an IPv4 address of this machine, or a name that has one");
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  ::freeaddrinfo(found);
  address.sin_port = htons(port);
  return address;
}

/// A socket that listens at the address; sets the port that the system chose.
FileDescriptor listen_at(sockaddr_in& address, const std::string& what, const std::string& given) {
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // A restarted server may use the port at once, although connections of the old one still end.
  const int on = 1;
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener || ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0)
    fail_listening(what, given,
                   std::generic_category().message(errno) +
                       "; choose an address of this machine and another port, or port 0 for "
                       "any free port");
  return listener;
}

}  // namespace

HttpListener::HttpListener(const std::string& what, const std::string& host_and_port) {
  sockaddr_in address = resolve(what, host_and_port);
  is_loopback_ = ntohl(address.sin_addr.s_addr) == INADDR_LOOPBACK;
  listener_ = listen_at(address, what, host_and_port);
  port_ = ntohs(address.sin_port);
}

}  // namespace vcap
