// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "files/file_descriptor.hpp"
#include "pipeline/connection_table.hpp"
#include "pipeline/http_exchange.hpp"
#include "pipeline/http_inbox.hpp"
#include "pipeline/http_server.hpp"
#include "pipeline/lingering_sockets.hpp"

namespace vcap {

/// Its loop is in http_server.cpp, the callbacks of libmicrohttpd and what they do in
/// http_callbacks.cpp. The inbox is for other threads; the rest is used in the server's thread.
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
  /// The next read or write of that connection fails, and libmicrohttpd closes it. The socket stays
  /// open until then, so its number belongs to no other connection yet.
  static void end_connection(int socket) noexcept { ::shutdown(socket, SHUT_RDWR); }

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
  void take_news(HttpInbox::News&& news);
  void close_gone();
  void end_overdue(std::chrono::steady_clock::time_point now);

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

}  // namespace vcap
