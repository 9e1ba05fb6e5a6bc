// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/metrics_server.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include <prometheus/text_serializer.h>

#include "base/text.hpp"
#include "files/file_descriptor.hpp"
#include "pipeline/metric_families.hpp"
#include "pipeline/text_server.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// A new snapshot, in Prometheus's text format.
std::string text_of(const Pipeline& pipeline) {
  std::vector<prometheus::MetricFamily> families = metric_families(pipeline.stats());
  std::vector<prometheus::MetricFamily> process = process_metric_families();
  std::move(process.begin(), process.end(), std::back_inserter(families));
  return prometheus::TextSerializer().Serialize(families);
}

std::pair<std::string, std::uint16_t> host_and_port_of(const std::string& given) {
  const std::size_t colon = given.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* const end = given.data() + given.size();
    const auto [rest, error] = std::from_chars(given.data() + colon + 1, end, port);
    if (error == std::errc() && rest == end) return {given.substr(0, colon), port};
  }
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "metrics address " + quote(given) +
                            " is not HOST:PORT; give an address or a name, and a port from 0 to "
                            "65535, such as 127.0.0.1:9464");
}

[[noreturn]] void fail_listening(const std::string& given, const std::string& why) {
  throw OutputError(ErrorCode::output_open,
                    "cannot serve metrics at " + printable(given) + ": " + why);
}

sockaddr_in resolve(const std::string& given) {
  const auto [host, port] = host_and_port_of(given);
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error != 0)
    fail_listening(given, std::string(::gai_strerror(error)) +
                              "; give an IPv4 address of this machine, or a name that has one");
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  ::freeaddrinfo(found);
  address.sin_port = htons(port);
  return address;
}

/// A socket that listens at the address; sets the port that the system chose.
FileDescriptor listen_at(sockaddr_in& address, const std::string& given) {
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // A restarted server may use the port at once, although connections of the old one still end.
  const int on = 1;
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener || ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0)
    fail_listening(given, std::generic_category().message(errno) +
                              "; choose an address of this machine and another port, or port 0 for "
                              "any free port");
  return listener;
}

}  // namespace

struct MetricsServer::Impl {
  Impl(const Pipeline& pipeline, const std::string& host_and_port, const ConnectionLimits& limits)
      : address(resolve(host_and_port)),
        server(
            listen_at(address, host_and_port), "/metrics",
            "text/plain; version=0.0.4; charset=utf-8", [&pipeline] { return text_of(pipeline); },
            limits) {}

  sockaddr_in address;
  const TextServer server;
};

MetricsServer::MetricsServer(const Pipeline& pipeline, const std::string& host_and_port,
                             const ConnectionLimits& limits) {
  limits.check();
  impl_ = std::make_unique<Impl>(pipeline, host_and_port, limits);
}

MetricsServer::~MetricsServer() = default;

std::uint16_t MetricsServer::port() const noexcept { return ntohs(impl_->address.sin_port); }

}  // namespace vcap
