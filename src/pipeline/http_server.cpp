// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_server.hpp"

#include <linux/sockios.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "pipeline/connection_table.hpp"
#include "pipeline/http_exchange.hpp"
#include "pipeline/http_inbox.hpp"
#include "pipeline/http_tls.hpp"
#include "pipeline/lingering_sockets.hpp"
#include "pipeline/signals_blocked.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// libmicrohttpd accepts several connections before it looks at those that are to be ended. So it
/// may have some more than the limit for a moment.
constexpr std::size_t kEnding = 32;

int socket_of(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

std::uint32_t address_of(const sockaddr* address) {
  return address && address->sa_family == AF_INET
             ? reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr
             : 0;
}

/// The next read or write of that connection fails, and libmicrohttpd closes it. The socket stays
/// open until then, so its number belongs to no other connection yet.
void end_connection(int socket) noexcept { ::shutdown(socket, SHUT_RDWR); }

/// The first message of libmicrohttpd while it starts, which says what is wrong.
void keep_message(void* kept, const char* format, va_list values) {
  auto& message = *static_cast<std::string*>(kept);
  if (!message.empty()) return;
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, values);
  message = text.data();
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
}

HttpAnswer failure_of(const std::exception_ptr& thrown) {
  return {.status = MHD_HTTP_INTERNAL_SERVER_ERROR, .text = exception_text(thrown) + "\n"};
}

}  // namespace

struct HttpServer::Impl {
  Impl(FileDescriptor listener, std::shared_ptr<HttpHandler> handler, Settings settings);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Callbacks of libmicrohttpd, all in the server's thread or while it does not run.
  static MHD_Result on_client(void* self, const sockaddr* address, socklen_t size) noexcept;
  static void on_connection(void* self, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode what) noexcept;
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path,
                               const char* method, const char* version, const char* body,
                               std::size_t* body_size, void** context) noexcept;
  static ssize_t on_stream(void* exchange, std::uint64_t position, char* buffer,
                           std::size_t most) noexcept;
  static void on_completed(void* self, MHD_Connection* connection, void** context,
                           MHD_RequestTerminationCode why) noexcept;

  void start_daemon(FileDescriptor listener);
  void run() noexcept;
  int wait_ms() const;

  // Steps of an exchange.
  HttpExchange& begin(MHD_Connection* connection, const char* path, const char* method);
  MHD_Result admit(HttpExchange& exchange);
  MHD_Result finish(HttpExchange& exchange);
  void ask_handler(HttpExchange& exchange);
  MHD_Result answer(HttpExchange& exchange);
  bool suspend(HttpExchange& exchange);
  void resume(HttpExchange& exchange);

  // Turns of the server's thread.
  void take_news(HttpInbox::News news);
  void close_gone();
  void end_overdue(SteadyClock::time_point now);

  const std::shared_ptr<HttpHandler> handler_;
  const Settings settings_;
  ConnectionTable table_;
  const std::shared_ptr<HttpInbox> inbox_ = std::make_shared<HttpInbox>();
  LingeringSockets lingering_{};
  const FileDescriptor suspended_;  ///< an epoll of the sockets of suspended connections
  std::map<std::uint64_t, HttpExchange> exchanges_{};
  std::uint64_t next_number_ = 0;
  std::set<int> unread_{};  ///< sockets whose clients may still send a body that is refused
  std::string message_{};
  MHD_Daemon* daemon_ = nullptr;
  int epoll_ = -1;  ///< owned by the daemon
  std::thread thread_{};
};

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

void HttpServer::Impl::take_news(HttpInbox::News news) {
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
    const auto found = exchanges_.find(events[static_cast<std::size_t>(i)].data.u64);
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

MHD_Result HttpServer::Impl::on_client(void* self, const sockaddr* address,
                                       socklen_t /*size*/) noexcept {
  const auto [admitted, evicted] = static_cast<Impl*>(self)->table_.admit(address_of(address));
  if (evicted) end_connection(*evicted);
  return admitted ? MHD_YES : MHD_NO;
}

void HttpServer::Impl::on_connection(void* self, MHD_Connection* connection, void** /*context*/,
                                     MHD_ConnectionNotificationCode what) noexcept {
  auto& server = *static_cast<Impl*>(self);
  const int socket = socket_of(connection);
  try {
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
      server.table_.close(socket);
      if (server.unread_.erase(socket) > 0) server.lingering_.add(socket, SteadyClock::now());
      return;
    }
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    server.table_.open(socket, address_of(info->client_addr), SteadyClock::now());
  } catch (const std::bad_alloc&) {
    end_connection(socket);  // a connection that is not in the table would have no deadline
  }
}

/// Called once when the header is complete, for each part of the body, and when it is complete,
/// until there is an answer.
MHD_Result HttpServer::Impl::on_request(void* self, MHD_Connection* connection, const char* path,
                                        const char* method, const char* /*version*/,
                                        const char* body, std::size_t* body_size,
                                        void** context) noexcept {
  auto& server = *static_cast<Impl*>(self);
  try {
    if (!*context) {
      HttpExchange& exchange = server.begin(connection, path, method);
      *context = &exchange;
      return server.admit(exchange);
    }
    auto& exchange = *static_cast<HttpExchange*>(*context);
    if (*body_size == 0) return server.finish(exchange);
    exchange.body->append({body, *body_size});
    *body_size = 0;
    if (!exchange.body->is_too_long())
      server.table_.body_received(exchange.socket, exchange.body->received(), SteadyClock::now());
    return MHD_YES;
  } catch (const std::bad_alloc&) {
    return MHD_NO;
  }
}

HttpExchange& HttpServer::Impl::begin(MHD_Connection* connection, const char* path,
                                      const char* method) {
  const std::uint64_t number = next_number_++;
  return exchanges_
      .emplace(number, HttpExchange{.server = this,
                                    .number = number,
                                    .connection = connection,
                                    .socket = socket_of(connection),
                                    .request = request_of(connection, path, method)})
      .first->second;
}

MHD_Result HttpServer::Impl::admit(HttpExchange& exchange) {
  try {
    auto decision = handler_->admit(exchange.request);
    if (auto* const refusal = std::get_if<HttpAnswer>(&decision)) {
      exchange.answer = std::move(*refusal);
    } else {
      const auto& rule = std::get<BodyRule>(decision);
      exchange.answer = refuse_body(exchange.request, rule);
      if (!exchange.answer && announces_body(exchange.request)) {
        exchange.body.emplace(rule);
        exchange.answer = exchange.body->failure();
      }
    }
  } catch (...) {
    exchange.answer = failure_of(std::current_exception());
  }
  if (exchange.answer) {
    if (announces_body(exchange.request)) unread_.insert(exchange.socket);
    return answer(exchange);
  }
  table_.body_begins(exchange.socket, SteadyClock::now());
  return MHD_YES;
}

/// The request is complete, or a suspended connection goes on.
MHD_Result HttpServer::Impl::finish(HttpExchange& exchange) {
  if (exchange.is_gone) return MHD_NO;
  if (!exchange.is_asked) ask_handler(exchange);
  if (exchange.answer) return answer(exchange);
  return suspend(exchange) ? MHD_YES : MHD_NO;
}

void HttpServer::Impl::ask_handler(HttpExchange& exchange) {
  exchange.is_asked = true;
  if (exchange.body) {
    if (!exchange.body->failure()) exchange.body->move_into(exchange.request);
    exchange.answer = exchange.body->failure();
    exchange.body.reset();
    if (exchange.answer) return;
  }
  try {
    const HttpReply reply([inbox = inbox_, number = exchange.number](HttpAnswer answer) {
      inbox->put(number, std::move(answer));
    });
    try {
      handler_->respond(std::move(exchange.request), reply);
    } catch (...) {
      reply.send(failure_of(std::current_exception()));
    }
  } catch (...) {
    exchange.answer = failure_of(std::current_exception());
    return;
  }
  exchange.answer = inbox_->take(exchange.number);
}

MHD_Result HttpServer::Impl::answer(HttpExchange& exchange) {
  table_.request_complete(exchange.socket, SteadyClock::now());
  return exchange.queue(&on_stream);
}

/// False if the system would not report that the client closes the connection.
bool HttpServer::Impl::suspend(HttpExchange& exchange) {
  epoll_event event{.events = EPOLLRDHUP, .data = {.u64 = exchange.number}};
  if (::epoll_ctl(suspended_.get(), EPOLL_CTL_ADD, exchange.socket, &event) != 0) return false;
  table_.wait(exchange.socket);
  exchange.is_suspended = true;
  MHD_suspend_connection(exchange.connection);
  return true;
}

void HttpServer::Impl::resume(HttpExchange& exchange) {
  ::epoll_ctl(suspended_.get(), EPOLL_CTL_DEL, exchange.socket, nullptr);
  table_.request_complete(exchange.socket, SteadyClock::now());
  exchange.is_suspended = false;
  MHD_resume_connection(exchange.connection);
}

/// The client has taken what there was, and can take more.
ssize_t HttpServer::Impl::on_stream(void* context, std::uint64_t /*position*/, char* buffer,
                                    std::size_t most) noexcept {
  auto& exchange = *static_cast<HttpExchange*>(context);
  auto& server = *static_cast<Impl*>(exchange.server);
  const bool can_go_on = exchange.ask_stream() || server.suspend(exchange);
  if (exchange.is_gone || !can_go_on) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (exchange.is_ended) return MHD_CONTENT_READER_END_OF_STREAM;
  if (!exchange.is_suspended) server.table_.request_complete(exchange.socket, SteadyClock::now());
  return static_cast<ssize_t>(exchange.take(buffer, most));
}

void HttpServer::Impl::on_completed(void* self, MHD_Connection* /*connection*/, void** context,
                                    MHD_RequestTerminationCode /*why*/) noexcept {
  if (!*context) return;
  const auto& exchange = *static_cast<const HttpExchange*>(*context);
  if (exchange.answer && exchange.answer->stream) exchange.answer->stream->closed();
  *context = nullptr;
  static_cast<Impl*>(self)->exchanges_.erase(exchange.number);
}

HttpServer::HttpServer(FileDescriptor listener, std::shared_ptr<HttpHandler> handler,
                       Settings settings)
    : impl_(std::make_unique<Impl>(std::move(listener), std::move(handler), std::move(settings))) {}

HttpServer::~HttpServer() = default;

void HttpServer::wake() noexcept { impl_->inbox_->wake(); }

}  // namespace vcap
