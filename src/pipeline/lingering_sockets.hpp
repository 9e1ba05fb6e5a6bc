// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "files/file_descriptor.hpp"

namespace vcap {

/// The sockets of refused requests whose clients may still send. If such a socket were closed at
/// once, the system would reset the connection, and the client might not see the answer. So what
/// comes is read and dropped for a moment. Thread safety: thread-compatible.
class LingeringSockets {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kLongest{2};
  static constexpr std::size_t kMost = 64;  ///< at a time; the oldest ones are closed

  /// Throws std::system_error if the system has no descriptor.
  LingeringSockets();

  /// Readable if drain() has something to do.
  int descriptor() const noexcept { return epoll_.get(); }
  /// Keeps a copy of a socket to which all has been written.
  void add(int socket, time_point now);
  void drain() noexcept;
  void close_overdue(time_point now) noexcept;
  std::optional<time_point> next_deadline() const noexcept;

 private:
  struct Lingering {
    FileDescriptor socket{};
    time_point deadline{};
  };

  const FileDescriptor epoll_;
  std::deque<Lingering> sockets_{};  ///< the oldest first
};

}  // namespace vcap
