// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_server.hpp"

#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "pipeline/connection_table.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// libmicrohttpd accepts several connections before it looks at those that are to be ended. So it
/// may have some more than the limit for a moment.
constexpr std::size_t kEnding = 32;

MHD_Result send_answer(MHD_Connection* connection, const HttpAnswer& answer) {
  // It copies the text, although its parameter is not const.
  MHD_Response* const response = MHD_create_response_from_buffer(
      answer.text.size(), const_cast<char*>(answer.text.data()), MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;  // which closes the connection
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
  // Otherwise a client could keep its connection, and its place, between two requests.
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  for (const auto& [name, value] : answer.headers)
    MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result sent = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return sent;
}

MHD_Result keep_argument(void* arguments, MHD_ValueKind, const char* name, const char* value) {
  static_cast<std::map<std::string, std::string>*>(arguments)->emplace(name, value ? value : "");
  return MHD_YES;
}

HttpRequest request_of(MHD_Connection* connection, const char* path) {
  HttpRequest request{.path = path};
  const char* const host =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
  if (host) request.host = host;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &keep_argument, &request.arguments);
  return request;
}

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

/// Threads that are started while this lives get no signals, which belong to the host's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct HttpServer::Impl {
  Impl(FileDescriptor listener, Respond respond, const ConnectionLimits& limits);
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

  void run() noexcept;
  HttpAnswer answer(const HttpRequest& request, const std::string& method) const;
  int wait_ms() const;

  const Respond respond_;
  ConnectionTable table_;
  const FileDescriptor stop_;
  MHD_Daemon* daemon_ = nullptr;
  int epoll_ = -1;  ///< owned by the daemon
  std::thread thread_{};
};

HttpServer::Impl::Impl(FileDescriptor listener, Respond respond, const ConnectionLimits& limits)
    : respond_(std::move(respond)),
      table_(limits),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_) throw std::system_error(errno, std::generic_category(), "a web server");
  // Without a thread of its own: this thread also ends connections, which must be open then. From
  // here on the daemon owns the listener, whether it starts or not.
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL, 0, &on_client, this, &on_request, this, MHD_OPTION_LISTEN_SOCKET,
      listener.release(), MHD_OPTION_NOTIFY_CONNECTION, &on_connection, this,
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limits.connections + kEnding),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.request_bytes, MHD_OPTION_END);
  if (!daemon_)
    throw OutputError(ErrorCode::output_open,
                      "the web server (libmicrohttpd) does not start; memory or "
                      " descriptors may be short");
  epoll_ = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  try {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    MHD_stop_daemon(daemon_);
    throw;
  }
}

HttpServer::Impl::~Impl() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
  MHD_stop_daemon(daemon_);
}

void HttpServer::Impl::run() noexcept {
  std::array<pollfd, 2> events{pollfd{epoll_, POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(events.data(), events.size(), wait_ms());
    if (ready > 0 && events[1].revents != 0) return;
    for (const int socket : table_.end_overdue(SteadyClock::now())) end_connection(socket);
    MHD_run(daemon_);
  }
}

/// Until the next thing to do without an event; -1 if there is none.
int HttpServer::Impl::wait_ms() const {
  using std::chrono::milliseconds;
  constexpr std::int64_t kLongest = 60'000;  // after which this is asked again
  std::int64_t wait = -1;
  if (const auto deadline = table_.next_deadline()) {
    const auto left = std::chrono::ceil<milliseconds>(*deadline - SteadyClock::now()).count();
    wait = std::clamp<std::int64_t>(left, 0, kLongest);
  }
  MHD_UNSIGNED_LONG_LONG own = 0;
  if (MHD_get_timeout(daemon_, &own) == MHD_YES) {
    const auto limited = static_cast<std::int64_t>(std::min<MHD_UNSIGNED_LONG_LONG>(own, kLongest));
    wait = wait < 0 ? limited : std::min(wait, limited);
  }
  return static_cast<int>(wait);
}

MHD_Result HttpServer::Impl::on_client(void* self, const sockaddr* address,
                                       socklen_t /*size*/) noexcept {
  const auto [admitted, evicted] = static_cast<Impl*>(self)->table_.admit(address_of(address));
  if (evicted) end_connection(*evicted);
  return admitted ? MHD_YES : MHD_NO;
}

void HttpServer::Impl::on_connection(void* self, MHD_Connection* connection, void** /*context*/,
                                     MHD_ConnectionNotificationCode what) noexcept {
  ConnectionTable& table = static_cast<Impl*>(self)->table_;
  const int socket = socket_of(connection);
  if (what == MHD_CONNECTION_NOTIFY_CLOSED) return table.close(socket);
  try {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    table.open(socket, address_of(info->client_addr), SteadyClock::now());
  } catch (const std::bad_alloc&) {
    end_connection(socket);  // a connection that is not in the table would have no deadline
  }
}

/// The request's header is complete. Its body, if any, is not read.
MHD_Result HttpServer::Impl::on_request(void* self, MHD_Connection* connection, const char* path,
                                        const char* method, const char* /*version*/,
                                        const char* /*body*/, std::size_t* /*body_size*/,
                                        void** /*context*/) noexcept {
  auto& server = *static_cast<Impl*>(self);
  server.table_.request_complete(socket_of(connection), SteadyClock::now());
  try {
    return send_answer(connection, server.answer(request_of(connection, path), method));
  } catch (const std::bad_alloc&) {
    return MHD_NO;
  }
}

HttpAnswer HttpServer::Impl::answer(const HttpRequest& request, const std::string& method) const {
  try {
    HttpAnswer answer = respond_(request);
    if (method == MHD_HTTP_METHOD_GET || method == MHD_HTTP_METHOD_HEAD ||
        answer.status == MHD_HTTP_NOT_FOUND)
      return answer;
    return {.status = MHD_HTTP_METHOD_NOT_ALLOWED,
            .text = request.path + " can only be read\n",
            .headers = {{MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET ", " MHD_HTTP_METHOD_HEAD}}};
  } catch (...) {
    return {.status = MHD_HTTP_INTERNAL_SERVER_ERROR,
            .text = exception_text(std::current_exception()) + "\n"};
  }
}

HttpServer::HttpServer(FileDescriptor listener, Respond respond, const ConnectionLimits& limits)
    : impl_(std::make_unique<Impl>(std::move(listener), std::move(respond), limits)) {}

HttpServer::~HttpServer() = default;

}  // namespace vcap
