// SPDX-License-Identifier: Apache-2.0
#include "pipeline/lingering_sockets.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace vcap {

LingeringSockets::LingeringSockets() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "a web server");
}

void LingeringSockets::add(int socket, time_point now) {
  FileDescriptor copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!copy) return;
  ::shutdown(copy.get(), SHUT_WR);
  epoll_event event{.events = EPOLLIN, .data = {.fd = copy.get()}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, copy.get(), &event) != 0) return;
  if (sockets_.size() >= kMost) sockets_.pop_front();
  sockets_.push_back({.socket = std::move(copy), .deadline = now + kLongest});
}

void LingeringSockets::drain() noexcept {
  std::array<epoll_event, kMost> events{};
  const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < ready; ++i) {
    const int socket = events[static_cast<std::size_t>(i)].data.fd;
    std::array<char, std::size_t{16} << 10> dropped;
    const ssize_t size = ::recv(socket, dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR))) continue;
    std::erase_if(sockets_, [&](const Lingering& one) { return one.socket.get() == socket; });
  }
}

void LingeringSockets::close_overdue(time_point now) noexcept {
  while (!sockets_.empty() && sockets_.front().deadline <= now) sockets_.pop_front();
}

std::optional<LingeringSockets::time_point> LingeringSockets::next_deadline() const noexcept {
  if (sockets_.empty()) return std::nullopt;
  return sockets_.front().deadline;
}

}  // namespace vcap
