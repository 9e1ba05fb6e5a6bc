// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace vcap::test {

/// An HTTP server on a free port of 127.0.0.1 that keeps what is posted to it. Thread-safe.
class HttpReceiver {
 public:
  struct Request {
    std::string path{};
    std::map<std::string, std::string> headers{};
    std::string body{};
  };
  struct Answer {
    unsigned status = 200;
    std::map<std::string, std::string> headers{};
  };
  /// Each in a thread of its connection, where it may wait.
  using Act = std::function<Answer(const Request&)>;

  /// `certificate`: a PEM file with a key and its certificate; then the server speaks https.
  explicit HttpReceiver(Act act = {}, const std::string& certificate = {}) : act_(std::move(act)) {
    // The machine's settings of proxies must not change a test.
    for (const char* const name :
         {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
      ::unsetenv(name);
    if (!certificate.empty()) pem_ = read_file(certificate);
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION;
    std::vector<MHD_OptionItem> options;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    options.push_back({MHD_OPTION_SOCK_ADDR, 0, &address});
    options.push_back({MHD_OPTION_NOTIFY_COMPLETED,
                       reinterpret_cast<std::intptr_t>(&HttpReceiver::forget), this});
    if (!pem_.empty()) {
      flags |= MHD_USE_TLS;
      options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, pem_.data()});
      options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, pem_.data()});
    }
    options.push_back({MHD_OPTION_END, 0, nullptr});
    daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &HttpReceiver::handle, this,
                               MHD_OPTION_ARRAY, options.data(), MHD_OPTION_END);
    if (daemon_ == nullptr) throw std::runtime_error("libmicrohttpd makes no server");
  }
  HttpReceiver(const HttpReceiver&) = delete;
  HttpReceiver& operator=(const HttpReceiver&) = delete;
  ~HttpReceiver() { MHD_stop_daemon(daemon_); }

  std::string url(const std::string& path = "/hook") const {
    const auto* const info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT);
    return (pem_.empty() ? "http://127.0.0.1:" : "https://127.0.0.1:") +
           std::to_string(info->port) + path;
  }
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  static MHD_Result handle(void* self, MHD_Connection* connection, const char* path, const char*,
                           const char*, const char* data, std::size_t* size, void** state) {
    auto* request = static_cast<Request*>(*state);
    if (request == nullptr) {
      *state = new Request{.path = path};
      return MHD_YES;
    }
    if (*size > 0) {
      request->body.append(data, *size);
      *size = 0;
      return MHD_YES;
    }
    MHD_get_connection_values(
        connection, MHD_HEADER_KIND,
        [](void* headers, MHD_ValueKind, const char* name, const char* value) {
          (*static_cast<std::map<std::string, std::string>*>(headers))[name] = value;
          return MHD_YES;
        },
        &request->headers);
    return static_cast<HttpReceiver*>(self)->answer(connection, *request);
  }

  MHD_Result answer(MHD_Connection* connection, const Request& request) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const Answer given = act_ ? act_(request) : Answer{};
    MHD_Response* const response =
        MHD_create_response_from_buffer(0, nullptr, MHD_RESPMEM_PERSISTENT);
    for (const auto& [name, value] : given.headers)
      MHD_add_response_header(response, name.c_str(), value.c_str());
    const MHD_Result result = MHD_queue_response(connection, given.status, response);
    MHD_destroy_response(response);
    return result;
  }

  static void forget(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
    delete static_cast<Request*>(*state);
    *state = nullptr;
  }

  const Act act_;
  std::string pem_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace vcap::test
