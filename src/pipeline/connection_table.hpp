// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "vcap/pipeline/connection_limits.hpp"

namespace vcap {

/// Decides which connections of a server may stay. A passive machine: it ends no connection itself,
/// but says which ones are to be ended. Thread safety: thread-compatible.
class ConnectionTable {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// What becomes of a client that wants to connect.
  struct Admission {
    bool admitted = true;
    std::optional<int> evicted{};  ///< the socket of a connection to be ended for it
  };

  explicit ConnectionTable(const ConnectionLimits& limits) : limits_(limits) {}

  /// A client of that IPv4 address wants to connect.
  Admission admit(std::uint32_t address);
  /// A connection was admitted and is open.
  void open(int socket, std::uint32_t address, time_point now);
  /// Its request's header is complete, and a body is to come. It is not evicted from now on.
  void body_begins(int socket, time_point now);
  /// So many bytes of its body have come so far.
  void body_received(int socket, std::uint64_t bytes, time_point now);
  /// It waits for the server, so it has no deadline.
  void wait(int socket);
  /// Its request is complete and the answer is there, or the client has taken a part of it.
  void request_complete(int socket, time_point now);
  /// It is closed, for whatever reason.
  void close(int socket);

  /// When end_overdue() is to be called; `nullopt` if no connection has a deadline.
  std::optional<time_point> next_deadline() const;
  /// The connections to be ended, because their deadline has passed; each is given once.
  std::vector<int> end_overdue(time_point now);

  /// The number of connections that are open and are not to be ended.
  std::size_t size() const;

 private:
  struct Connection {
    std::uint32_t address = 0;
    std::uint64_t number = 0;      ///< rises with each connection
    time_point deadline{};         ///< time_point::max() if it has none
    std::uint64_t body_bytes = 0;  ///< when the deadline was set
    bool has_request = false;
    bool is_ending = false;  ///< it is to be ended, and does not count any more
  };

  std::size_t count(std::optional<std::uint32_t> address) const;
  Connection* oldest_without_request(std::optional<std::uint32_t> address, int& socket);

  const ConnectionLimits limits_;
  std::map<int, Connection> connections_{};  ///< by socket
  std::uint64_t next_number_ = 0;
};

}  // namespace vcap
