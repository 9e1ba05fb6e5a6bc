// SPDX-License-Identifier: Apache-2.0
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include <chrono>
#include <exception>
#include <new>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "pipeline/http_server_impl.hpp"

namespace vcap {
namespace {

std::chrono::steady_clock::time_point steady_now() { return std::chrono::steady_clock::now(); }

int socket_of(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

std::uint32_t address_of(const sockaddr* address) {
  return address && address->sa_family == AF_INET
             ? reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr
             : 0;
}

HttpAnswer failure_of(const std::exception_ptr& thrown) {
  return {.status = MHD_HTTP_INTERNAL_SERVER_ERROR, .text = exception_text(thrown) + "\n"};
}

}  // namespace

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
      if (server.unread_.erase(socket) > 0) server.lingering_.add(socket, steady_now());
      return;
    }
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    server.table_.open(socket, address_of(info->client_addr), steady_now());
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
      server.table_.body_received(exchange.socket, exchange.body->received(), steady_now());
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
  table_.body_begins(exchange.socket, steady_now());
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
  table_.request_complete(exchange.socket, steady_now());
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
  table_.request_complete(exchange.socket, steady_now());
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
  if (!exchange.is_suspended) server.table_.request_complete(exchange.socket, steady_now());
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

}  // namespace vcap
