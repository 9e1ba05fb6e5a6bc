// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/http_get.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "vcap/view/live_view.hpp"

namespace vcap::test {

/// Asks a live view on this machine, as the page does.
class ViewClient {
 public:
  explicit ViewClient(const LiveView& view, std::string token = {})
      : ViewClient(view.port(), std::move(token)) {}
  explicit ViewClient(std::uint16_t port, std::string token = {})
      : port_(port), token_(std::move(token)) {}

  HttpAnswer get(const std::string& path) const { return ask("GET", path); }
  HttpAnswer ask(const std::string& method, const std::string& path, const std::string& body = {},
                 const std::string& headers = "X-Vcap: 1\r\n") const {
    std::string text = method + " " + path +
                       " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n" + headers;
    if (!token_.empty()) text += "Authorization: Bearer " + token_ + "\r\n";
    if (method != "GET" || !body.empty())
      text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return raw(text + "\r\n" + body);
  }
  HttpAnswer raw(const std::string& request) const {
    const LoopbackConnection connection(port_);
    connection.send(request);
    const std::string text = connection.read_all();
    const std::size_t end = text.find("\r\n\r\n");
    const std::size_t status = text.find(' ');
    if (end == std::string::npos || status == std::string::npos) return {};
    return {.status = std::atoi(text.c_str() + status + 1),
            .head = text.substr(0, end),
            .body = text.substr(end + 4)};
  }
  /// The answer's body, which is JSON.
  nlohmann::json json(const std::string& path) const {
    return nlohmann::json::parse(get(path).body);
  }

 private:
  const std::uint16_t port_;
  const std::string token_;
};

inline std::string code_of(const HttpAnswer& answer) {
  return nlohmann::json::parse(answer.body)["error"]["code"];
}

inline std::string message_of(const HttpAnswer& answer) {
  return nlohmann::json::parse(answer.body)["error"]["message"];
}

/// Asks again until the answer is as it should be, at most for a minute.
inline HttpAnswer ask_until(const std::function<HttpAnswer()>& ask,
                            const std::function<bool(const HttpAnswer&)>& is_right) {
  HttpAnswer answer = ask();
  for (int i = 0; i < 6000 && !is_right(answer); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answer = ask();
  }
  return answer;
}

/// Frames that come until it is destroyed, from a thread of its own.
class SteadyFeed {
 public:
  explicit SteadyFeed(cv::Size size = {64, 48}) : size_(size) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      for (std::int64_t i = 0; !stop.stop_requested(); ++i) {
        feed_.push(cv::Mat(size_, CV_8UC3, cv::Scalar::all(static_cast<double>(i % 256))),
                   std::chrono::milliseconds(10 * i));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      feed_.end();
    });
  }

  ~SteadyFeed() { feed_.end(); }  // a push that waits for room returns
  SteadyFeed(const SteadyFeed&) = delete;
  SteadyFeed& operator=(const SteadyFeed&) = delete;

  std::unique_ptr<Source> source() { return feed_.source(); }

 private:
  const cv::Size size_;
  FrameFeed feed_;
  std::jthread thread_;
};

}  // namespace vcap::test
