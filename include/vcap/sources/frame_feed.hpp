// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Feeds frames that the host already has into a stream. The host pushes them here, and the stream
/// reads them from source(). Pixels are shared, not copied; the host must not write them
/// afterwards.
///
/// A pushed frame belongs to the stream, whose records and reports show what became of it. Frames
/// that the stream did not read before it ended are dropped. Thread safety: thread-safe.
class VCAP_EXPORT FrameFeed {
 public:
  /// Fixed when the feed is made.
  struct Settings {
    std::string name = "feed";     ///< for messages
    double frames_per_second = 0;  ///< for outputs; 0 if unknown
    /// Whether the frames arrive at their own pace, like a camera's. An overloaded stream then
    /// drops the oldest frames by default, instead of making push() wait.
    bool live = false;
    std::size_t capacity = 4;  ///< number of frames that may wait to be read; at least 1
  };

  FrameFeed();
  /// Throws InvalidArgument if the capacity is 0 or the rate is negative or not finite.
  explicit FrameFeed(Settings settings);
  /// Calls end().
  ~FrameFeed();
  FrameFeed(const FrameFeed&) = delete;
  FrameFeed& operator=(const FrameFeed&) = delete;

  /// The source for the one stream that reads the frames; it may outlive the feed. Throws
  /// InvalidArgument on the second call.
  std::unique_ptr<Source> source();

  /// Hands over the next frame; blocks while `capacity` frames wait. Returns false if the source
  /// was interrupted or destroyed, or the feed has ended.
  ///
  /// `image`: height × width × 3, 8 bit, BGR. `pts`: from the stream's start, later than the one
  /// before; default: the time since the first push, by the monotonic clock. The first frame always
  /// has Discontinuity::start. Throws InvalidArgument for other pixels, or if `pts` is not later.
  bool push(cv::Mat image, std::optional<std::chrono::nanoseconds> pts = {},
            Discontinuity discontinuity = Discontinuity::none);
  /// Like push(), without waiting. Also returns false if there is no room; the frame is then
  /// dropped, and the next frame has Discontinuity::gap.
  bool try_push(cv::Mat image, std::optional<std::chrono::nanoseconds> pts = {},
                Discontinuity discontinuity = Discontinuity::none);
  /// Ends the feed: the stream ends after the frames that were pushed. Idempotent.
  void end() noexcept;

 private:
  class Queue;
  class QueueSource;
  std::shared_ptr<Queue> queue_;
};

}  // namespace vcap
