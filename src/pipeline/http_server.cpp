// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_server.hpp"

#include <linux/sockios.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/http_server_impl.hpp"
#include "pipeline/http_tls.hpp"
#include "pipeline/signals_blocked.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// libmicrohttpd accepts several connections before it looks at those that are to be ended. So it
/// may have some more than the limit for a moment.
constexpr std::size_t kEnding = 32;

/// The first message of libmicrohttpd while it starts, which says what is wrong.
void keep_message(void* kept, const char* format, va_list values) {
  auto& message = *static_cast<std::string*>(kept);
  if (!message.empty()) return;
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, values);
  message = text.data();
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
}

}  // namespace

HttpServer::Impl::Impl(FileDescriptor listener, std::shared_ptr<HttpHandler> handler,
                       Settings settings)
    : handler_(std::move(handler)),
      settings_(std::move(settings)),
      table_(settings_.limits),
      suspended_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!suspended_) throw std::system_error(errno, std::generic_category(), "a web server");
  start_daemon(std::move(listener));
  epoll_ = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  try {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    MHD_stop_daemon(daemon_);
    throw;
  }
}

/// Without a thread of its own: the server's thread also ends connections, which must be open then.
void HttpServer::Impl::start_daemon(FileDescriptor listener) {
  const ConnectionLimits& limits = settings_.limits;
  TlsTexts tls;
  if (settings_.tls) tls = read_tls_files(*settings_.tls);
  std::vector<MHD_OptionItem> options;
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
  if (settings_.tls) {
    flags |= MHD_USE_TLS | MHD_USE_ERROR_LOG;
    options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, tls.certificate.data()});
    options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, tls.key.data()});
    options.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsPriorities)});
  }
  options.push_back({MHD_OPTION_END, 0, nullptr});
  // From here on the daemon owns the listener, whether it starts or not.
  daemon_ = MHD_start_daemon(
      flags, 0, &on_client, this, &on_request, this, MHD_OPTION_EXTERNAL_LOGGER, &keep_message,
      &message_, MHD_OPTION_LISTEN_SOCKET, listener.release(), MHD_OPTION_NOTIFY_CONNECTION,
      &on_connection, this, MHD_OPTION_NOTIFY_COMPLETED, &on_completed, this,
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limits.connections + kEnding),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.request_bytes, MHD_OPTION_ARRAY, options.data(),
      MHD_OPTION_END);
  if (daemon_) return;
  if (settings_.tls) fail_tls(*settings_.tls, message_);
  throw OutputError(ErrorCode::output_open,
                    "the web server (libmicrohttpd) does not start; memory or descriptors may be "
                    "short");
}

HttpServer::Impl::~Impl() {
  inbox_->stop();
  thread_.join();
  inbox_->close();
  for (auto& [number, exchange] : exchanges_)
    if (exchange.is_suspended) resume(exchange);
  MHD_stop_daemon(daemon_);
}

void HttpServer::Impl::run() noexcept {
  std::array<pollfd, 4> events{pollfd{epoll_, POLLIN, 0}, pollfd{inbox_->descriptor(), POLLIN, 0},
                               pollfd{suspended_.get(), POLLIN, 0},
                               pollfd{lingering_.descriptor(), POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(events.data(), events.size(), wait_ms());
    if (ready > 0 && events[1].revents != 0) {
      HttpInbox::News news = inbox_->take();
      if (news.stop) return;
      take_news(std::move(news));
    }
    if (ready > 0 && events[2].revents != 0) close_gone();
    if (ready > 0 && events[3].revents != 0) lingering_.drain();
    end_overdue(SteadyClock::now());
    MHD_run(daemon_);
  }
}

/// Until the next thing to do without an event; -1 if there is none.
int HttpServer::Impl::wait_ms() const {
  using std::chrono::milliseconds;
  constexpr std::int64_t kLongest = 60'000;  // after which this is asked again
  std::int64_t wait = -1;
  const auto limit = [&](std::int64_t ms) {
    ms = std::clamp<std::int64_t>(ms, 0, kLongest);
    wait = wait < 0 ? ms : std::min(wait, ms);
  };
  for (const auto& deadline : {table_.next_deadline(), lingering_.next_deadline()})
    if (deadline) limit(std::chrono::ceil<milliseconds>(*deadline - SteadyClock::now()).count());
  MHD_UNSIGNED_LONG_LONG own = 0;
  if (MHD_get_timeout(daemon_, &own) == MHD_YES)
    limit(static_cast<std::int64_t>(std::min<MHD_UNSIGNED_LONG_LONG>(own, kLongest)));
  return static_cast<int>(wait);
}

void HttpServer::Impl::take_news(HttpInbox::News&& news) {
  for (auto& [number, answer] : news.answers) {
    const auto found = exchanges_.find(number);
    if (found == exchanges_.end()) {  // its client has gone
      if (answer.stream) answer.stream->closed();
      continue;
    }
    found->second.answer = std::move(answer);
    if (found->second.is_suspended) resume(found->second);
  }
  if (!news.wake) return;
  for (auto& [number, exchange] : exchanges_)
    if (exchange.is_suspended && exchange.answer && exchange.ask_stream()) resume(exchange);
}

/// The clients of suspended connections that have closed them.
void HttpServer::Impl::close_gone() {
  std::array<epoll_event, 64> events{};
  const int ready =
      ::epoll_wait(suspended_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < ready; ++i) {
    // Copied, because the kernel's structure is packed, so a reference would be misaligned.
    const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
    const auto found = exchanges_.find(number);
    if (found == exchanges_.end() || !found->second.is_suspended) continue;
    found->second.is_gone = true;
    resume(found->second);
  }
}

void HttpServer::Impl::end_overdue(SteadyClock::time_point now) {
  lingering_.close_overdue(now);
  const auto deadline = table_.next_deadline();
  if (!deadline || *deadline > now) return;
  // What a slow viewer has taken from the system's buffer is also progress.
  for (auto& [number, exchange] : exchanges_) {
    if (exchange.is_suspended || !exchange.answer || !exchange.answer->stream) continue;
    int unsent = 0;
    ::ioctl(exchange.socket, SIOCOUTQ, &unsent);
    if (std::exchange(exchange.unsent, unsent) != unsent)
      table_.request_complete(exchange.socket, now);
  }
  for (const int socket : table_.end_overdue(now)) end_connection(socket);
}

HttpServer::HttpServer(FileDescriptor listener, std::shared_ptr<HttpHandler> handler,
                       Settings settings)
    : impl_(std::make_unique<Impl>(std::move(listener), std::move(handler), std::move(settings))) {}

HttpServer::~HttpServer() = default;

void HttpServer::wake() noexcept { impl_->inbox_->wake(); }

}  // namespace vcap
