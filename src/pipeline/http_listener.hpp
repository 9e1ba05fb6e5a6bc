// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A socket that listens for a server of vcap. Thread safety: thread-compatible.
class VCAP_EXPORT HttpListener {
 public:
  /// `what`: that is served, for messages. `host_and_port`: an IPv4 address, or a name that has
  /// one, and a port; port 0 is any free one. Throws InvalidArgument if it has another form,
  /// OutputError (output_open) if it cannot listen there.
  HttpListener(const std::string& what, const std::string& host_and_port);

  std::uint16_t port() const noexcept { return port_; }
  /// Whether it listens at 127.0.0.1, which only this machine can reach.
  bool is_loopback() const noexcept { return is_loopback_; }
  /// Hands the socket over, once.
  FileDescriptor release() noexcept { return std::move(listener_); }

 private:
  FileDescriptor listener_{};
  std::uint16_t port_ = 0;
  bool is_loopback_ = false;
};

}  // namespace vcap
