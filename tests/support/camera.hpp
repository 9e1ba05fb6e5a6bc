// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <opencv2/imgcodecs.hpp>

#include "support/bounded_wait.hpp"

namespace vcap::test {

/// A camera on the network: a server in this process, on the loopback interface. It answers
/// requests, one after the other, with JPEG pictures, as network cameras do.
class Camera {
 public:
  /// What the camera does with one client.
  struct Visit {
    int pictures = 50;
    bool freezes = false;  ///< afterwards keeps the connection and is silent; otherwise disconnects
    std::string answer{};  ///< sent instead of pictures if not empty
  };

  /// Serves the visits in order, then stops listening.
  explicit Camera(std::vector<Visit> visits, std::uint16_t port = 0)
      : visits_(std::move(visits)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int again = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no server on the loopback interface");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  explicit Camera(int pictures) : Camera(std::vector<Visit>(1, {.pictures = pictures})) {}
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;
  ~Camera() {
    ::shutdown(listener_, SHUT_RDWR);  // ends an accept() that still waits
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      if (client_ >= 0) ::shutdown(client_, SHUT_RDWR);
    }
    thread_.join();
    ::close(listener_);
  }

  /// Waits until visit `number` has begun, counted from 1.
  void wait_for_visit(int number) const {
    std::unique_lock lock(mutex_);
    bounded_wait(visited_, lock, "a visit of the camera", [&] { return visits_begun_ >= number; });
  }
  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/live"; }

 private:
  static void send_all(int client, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  static void send_pictures(int client, int pictures) {
    send_all(client,
             "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=picture\r\n\r\n");
    std::vector<uchar> jpeg;
    cv::imencode(".jpg", cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(90)), jpeg);
    for (int i = 0; i < pictures; ++i) {
      send_all(client, "--picture\r\nContent-Type: image/jpeg\r\nContent-Length: " +
                           std::to_string(jpeg.size()) + "\r\n\r\n");
      send_all(client, {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()});
      send_all(client, "\r\n");
    }
  }

  bool take(int client) {
    const std::lock_guard lock(mutex_);
    if (client >= 0 && over_) return false;
    client_ = client;
    if (client >= 0) ++visits_begun_;
    visited_.notify_all();
    return true;
  }

  void serve() {
    for (const Visit& visit : visits_) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      char request[4096];
      if (take(client) && ::recv(client, request, sizeof request, 0) > 0) {
        if (visit.answer.empty())
          send_pictures(client, visit.pictures);
        else
          send_all(client, visit.answer);
        // Until the client gives up or the camera is destroyed.
        while (visit.freezes && ::recv(client, request, sizeof request, 0) > 0) {
        }
      }
      take(-1);
      ::close(client);
    }
    ::shutdown(listener_, SHUT_RDWR);
  }

  const std::vector<Visit> visits_;
  const int listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable visited_;
  int visits_begun_ = 0;
  int client_ = -1;  ///< -1: no client
  bool over_ = false;
  std::thread thread_;
};

}  // namespace vcap::test
