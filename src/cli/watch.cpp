// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <iterator>
#include <system_error>
#include <thread>

#include "cli/console.hpp"

namespace vcap::cli {
namespace {

constexpr int kProgressMilliseconds = 250;

/// An event that any thread can raise once; its descriptor then becomes readable.
class Event {
 public:
  Event() : descriptor_(::eventfd(0, EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~Event() { ::close(descriptor_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  void set() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof one);
  }

 private:
  int descriptor_;
};

void show_until(const Event& ended, StopSignal& stop, const Watch& watch) {
  const auto begin = std::chrono::steady_clock::now();
  Console& console = Console::shared();
  const int interval = console.is_terminal() ? kProgressMilliseconds : -1;
  pollfd events[] = {{.fd = ended.descriptor(), .events = POLLIN, .revents = 0},
                     {.fd = stop.descriptor(), .events = POLLIN, .revents = 0}};
  while (events[0].revents == 0) {
    ::poll(events, std::size(events), interval);
    if (events[1].revents != 0) {
      watch.on_stop();
      events[1].fd = -1;  // handled
      events[1].revents = 0;
    }
    console.progress(watch.progress(std::chrono::steady_clock::now() - begin));
  }
}

}  // namespace

void watch_over(const std::function<void()>& work, StopSignal& stop, const Watch& watch) {
  Event ended;
  std::exception_ptr failure;
  {
    const std::jthread working([&] {
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      ended.set();
    });
    show_until(ended, stop, watch);
  }
  Console::shared().end_progress();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vcap::cli
