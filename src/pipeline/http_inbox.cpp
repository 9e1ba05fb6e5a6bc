// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_inbox.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace vcap {

HttpInbox::HttpInbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "a web server");
}

void HttpInbox::put(std::uint64_t request, HttpAnswer answer) {
  {
    const MutexLock lock(mutex_);
    if (is_closed_) return;
    answers_.insert_or_assign(request, std::move(answer));
  }
  notify();
}

void HttpInbox::wake() noexcept {
  if (!wake_.exchange(true)) notify();
}

void HttpInbox::stop() noexcept {
  stop_ = true;
  notify();
}

void HttpInbox::close() {
  std::map<std::uint64_t, HttpAnswer> dropped;  // released without the lock
  {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    dropped.swap(answers_);
  }
  for (const auto& [request, answer] : dropped)
    if (answer.stream) answer.stream->closed();
}

HttpInbox::News HttpInbox::take() {
  eventfd_t count = 0;
  ::eventfd_read(event_.get(), &count);  // first, so that what comes from here on is seen again
  News news{.stop = stop_, .wake = wake_.exchange(false)};
  const MutexLock lock(mutex_);
  news.answers.swap(answers_);
  return news;
}

std::optional<HttpAnswer> HttpInbox::take(std::uint64_t request) {
  const MutexLock lock(mutex_);
  const auto found = answers_.extract(request);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

void HttpInbox::notify() noexcept { ::eventfd_write(event_.get(), 1); }

}  // namespace vcap
