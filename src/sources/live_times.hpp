// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "vcap/base/export.hpp"

namespace vcap {

/// A live stream's times, from its first picture on: by the camera's own clock where it tells one,
/// laid onto this machine's at the start of each connection; else by when the pictures come. They
/// rise strictly. Thread safety: thread-compatible.
class VCAP_EXPORT LiveTimes {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Time {
    nanoseconds pts;
    /// By the camera's clock there must have been pictures before this one that did not come: it is
    /// more than a second, and more than five pictures at the pace of late, behind the one before;
    /// or that clock was set, by more than a second.
    bool gap = false;
  };

  /// The pictures that come next are told by a clock of which nothing is known.
  void begin_connection() noexcept;
  /// Of a picture that came at `arrival`. `told` is its time by the camera, from anywhere on.
  Time next(std::chrono::steady_clock::time_point arrival,
            std::optional<nanoseconds> told) noexcept;

 private:
  bool follows_gap(nanoseconds step, nanoseconds waited) noexcept;

  std::optional<std::chrono::steady_clock::time_point> first_{};
  bool connected_ = false;  ///< there was a picture in this connection
  nanoseconds last_arrival_{0};
  nanoseconds last_pts_{-1};
  std::optional<nanoseconds> last_told_{};
  nanoseconds last_told_arrival_{0};
  std::optional<nanoseconds> offset_{};  ///< from the camera's clock to pts
  std::optional<nanoseconds> pace_{};    ///< from picture to picture, lately
};

}  // namespace vcap
