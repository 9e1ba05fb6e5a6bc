// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace vcap {

/// The times of a live stream, from its first picture on. By the camera's clock if it has one,
/// aligned with this machine's clock at the start of each connection; otherwise by arrival. They
/// rise strictly. Thread safety: thread-compatible.
class LiveTimes {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Time {
    nanoseconds pts;
    /// By the camera's clock, pictures before this one are missing. It comes more than a second,
    /// and more than five times the recent picture interval, after the one before. Also true if
    /// that clock was set: back by more than 1 s, or ahead by more than 10 s.
    bool gap = false;
  };

  /// The pictures that follow have times from a clock with an unknown origin.
  void begin_connection() noexcept;
  /// The time of a picture that arrived at `arrival`. `told`: its time by the camera, with an
  /// arbitrary origin.
  Time next(std::chrono::steady_clock::time_point arrival,
            std::optional<nanoseconds> told) noexcept;

 private:
  bool follows_gap(nanoseconds step, nanoseconds waited) noexcept;

  std::optional<std::chrono::steady_clock::time_point> first_{};
  bool connected_ = false;  ///< this connection has given a picture
  nanoseconds last_arrival_{0};
  nanoseconds last_pts_{-1};
  std::optional<nanoseconds> last_told_{};
  nanoseconds last_told_arrival_{0};
  std::optional<nanoseconds> offset_{};  ///< from the camera's clock to pts
  std::optional<nanoseconds> pace_{};    ///< recent time from picture to picture
};

}  // namespace vcap
