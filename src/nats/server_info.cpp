// SPDX-License-Identifier: Apache-2.0
#include "nats/server_info.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>

#include <nlohmann/json.hpp>

#include "files/file_descriptor.hpp"
#include "files/strict_json.hpp"
#include "files/url.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr std::string_view kGreeting = "INFO ";
/// It lists the addresses of all servers of a cluster.
constexpr std::size_t kLongestGreeting = 64 << 10;

/// False at the deadline.
bool is_ready(int socket, short event, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd entry{.fd = socket, .events = event, .revents = 0};
    const int count =
        ::poll(&entry, 1, static_cast<int>(std::max(left, std::chrono::milliseconds(0)).count()));
    if (count < 0 && errno == EINTR) continue;
    return count > 0;
  }
}

FileDescriptor connected(const addrinfo& address, Deadline deadline) {
  FileDescriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  int error = errno;
  socklen_t size = sizeof error;
  if (error == EINPROGRESS && is_ready(socket.get(), POLLOUT, deadline) &&
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
    return socket;
  return FileDescriptor();
}

/// The first line, without its end; what came if there is none.
std::string first_line(int socket, Deadline deadline) {
  std::string text;
  char buffer[4096];
  while (text.size() < kLongestGreeting && is_ready(socket, POLLIN, deadline)) {
    const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
    if (const std::size_t end = text.find('\n'); end != text.npos) return text.substr(0, end);
  }
  return text;
}

std::string greeting(const std::string& host, const std::string& port, Deadline deadline) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next)
    if (const FileDescriptor socket = connected(*address, deadline))
      return first_line(socket.get(), deadline);
  return {};
}

}  // namespace

std::optional<BrokerServer> read_server_info(const std::string& url,
                                             std::chrono::milliseconds timeout) {
  const std::size_t colon = url.rfind(':');
  if (colon == url.npos) return std::nullopt;
  const std::string line =
      greeting(host_of(url), url.substr(colon + 1), std::chrono::steady_clock::now() + timeout);
  if (!line.starts_with(kGreeting)) return std::nullopt;
  try {
    const nlohmann::json info = parse_strictly(std::string_view(line).substr(kGreeting.size()));
    return BrokerServer{.version = info.at("version"),
                        .has_jet_stream = info.value("jetstream", false),
                        .largest_message = info.at("max_payload")};
  } catch (const InvalidArgument&) {
  } catch (const nlohmann::json::exception&) {
  }
  return std::nullopt;
}

}  // namespace vcap
