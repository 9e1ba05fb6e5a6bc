// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include <opencv2/core.hpp>

#include "vcap/sources/frame_feed.hpp"

namespace vcap::bench {

/// A live source of 25 frames a second, until end() or its destruction.
class PacedFeed {
 public:
  static constexpr std::chrono::milliseconds kInterval{40};

  /// `picture`: called for each frame, with its number.
  explicit PacedFeed(std::function<cv::Mat(std::int64_t number)> picture)
      : picture_(std::move(picture)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  std::unique_ptr<Source> source() { return feed_.source(); }
  /// Returns the number of its frames, also of those that the stream did not take.
  std::int64_t end() {
    thread_.request_stop();
    thread_.join();
    feed_.end();
    return frames_;
  }

 private:
  void run(const std::stop_token& stop) {
    auto next = std::chrono::steady_clock::now();
    for (; !stop.stop_requested(); ++frames_) {
      feed_.try_push(picture_(frames_));
      std::this_thread::sleep_until(next += kInterval);
    }
  }

  const std::function<cv::Mat(std::int64_t)> picture_;
  FrameFeed feed_{{.live = true}};
  std::int64_t frames_ = 0;
  std::jthread thread_;
};

}  // namespace vcap::bench
