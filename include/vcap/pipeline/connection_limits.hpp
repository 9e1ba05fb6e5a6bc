// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include "vcap/base/export.hpp"

namespace vcap {

/// How much of a server its clients may occupy. At a limit, a new connection takes the place of the
/// oldest one that has not sent its whole request yet. So clients that send nothing, or send
/// slowly, keep nobody else out. A connection whose request is complete, or whose body is admitted,
/// is never ended for another one. Thread safety: value.
struct VCAP_EXPORT ConnectionLimits {
  std::size_t connections = 64;  ///< of all clients, at a time; 1 to 10000
  /// Of one IP address, at a time; at least 1. A value above `connections` acts as `connections`.
  /// Behind a proxy, all clients have one address.
  std::size_t per_address = 8;
  /// From the connection to the end of the request, however slowly it is sent; with TLS, this
  /// includes the handshake. If the server admits a body, the time begins again after the header,
  /// and after each kLeastBody bytes. Above 0, at most a day, like the next one.
  std::chrono::milliseconds request_deadline{3000};
  /// From the answer until the client has read it. Of an answer without an end: the longest time in
  /// which the client reads nothing of what is there.
  std::chrono::milliseconds answer_deadline{10'000};
  /// A connection may occupy that much memory for its request; 1 KiB to 1 MiB.
  std::size_t request_bytes = std::size_t{16} << 10;

  /// So many bytes of an admitted body must come within each `request_deadline`.
  static constexpr std::size_t kLeastBody = std::size_t{64} << 10;

  /// Throws InvalidArgument naming a value that is out of its range.
  void check() const;

  friend bool operator==(const ConnectionLimits&, const ConnectionLimits&) = default;
};

}  // namespace vcap
