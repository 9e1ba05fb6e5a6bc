// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <opencv2/core/mat.hpp>

#include "base/thread_annotations.hpp"
#include "sources/live_clock.hpp"
#include "sources/live_times.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// A picture from a camera. Thread safety: value.
struct LivePicture {
  cv::Mat image{};  ///< in its own memory
  /// By the camera's clock, with an arbitrary origin; `nullopt` if it has none.
  std::optional<std::chrono::nanoseconds> time{};
  bool follows_damage = false;  ///< something before it could not be decoded
  BrokenPictures broken{};      ///< what could not be decoded since the picture before it
};

/// One connection to a camera. Thread safety: thread-compatible.
class LiveFeed {
 public:
  LiveFeed() = default;
  LiveFeed(const LiveFeed&) = delete;
  LiveFeed& operator=(const LiveFeed&) = delete;
  virtual ~LiveFeed();

  virtual SourceInfo info() const = 0;
  /// The next picture. Throws SourceError with the reason when the connection is no longer usable,
  /// and soon after stop is requested.
  virtual LivePicture next() = 0;
};

/// A camera: delivers pictures whether they are read or not, and is reconnected when it is lost.
/// Thread safety: as Source.
class LiveSource final : public Source {
 public:
  /// Opens a connection. Throws SourceError. [source thread]
  using Connect = std::function<std::unique_ptr<LiveFeed>(const std::stop_token&)>;

  /// Starts with a connected feed; `stop` interrupts it and all later feeds.
  LiveSource(std::unique_ptr<LiveFeed> feed, Connect connect, const ReconnectPolicy& policy,
             std::stop_source stop, std::unique_ptr<LiveClock> clock = nullptr);

  /// Starts unconnected: the first read() connects. `info` is used until then.
  LiveSource(SourceInfo info, Connect connect, const ReconnectPolicy& policy, std::stop_source stop,
             std::unique_ptr<LiveClock> clock = nullptr);

  SourceInfo info() const override { return info_; }
  std::optional<Frame> read() override;
  BrokenPictures broken_pictures() const override { return broken_; }
  void interrupt() noexcept override { stop_.request_stop(); }
  std::optional<SourceState> state() const override;

 private:
  using time_point = std::chrono::steady_clock::time_point;

  void take(std::unique_ptr<LiveFeed> feed);
  std::optional<LivePicture> read_picture();
  void lose(const std::string& why);
  bool connect_again();
  void note_picture(time_point now);
  void note_attempt();

  const Connect connect_;
  const ReconnectPolicy policy_;
  std::stop_source stop_;
  const std::unique_ptr<LiveClock> clock_;
  std::unique_ptr<LiveFeed> feed_{};  ///< null: not connected
  bool was_connected_ = false;
  SourceInfo info_;
  std::string lost_because_;
  int attempts_ = 0;  ///< connection attempts since the last frame
  std::int64_t next_index_ = 0;
  LiveTimes times_;
  BrokenPictures broken_{};

  mutable Mutex state_mutex_;
  SourceState state_ VCAP_GUARDED_BY(state_mutex_){};  ///< without `lasts`
  time_point since_ VCAP_GUARDED_BY(state_mutex_){};
};

}  // namespace vcap
