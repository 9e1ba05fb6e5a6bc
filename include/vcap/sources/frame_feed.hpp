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

/// Frames that the host has itself, for a stream: it pushes them here, and the stream reads them
/// from source(). Pixels are shared, not copied, and not to be written from then on.
///
/// A frame that was pushed is the stream's, and its records and reports tell what became of it;
/// frames that the stream did not read before it ended are dropped here. Thread safety:
/// thread-safe.
class VCAP_EXPORT FrameFeed {
 public:
  struct Settings {
    std::string name = "feed";     ///< for messages
    double frames_per_second = 0;  ///< for outputs; 0 where unknown
    /// The frames come whether they are analysed or not: by default, the stream then drops the
    /// oldest where it is overloaded, rather than letting push() wait.
    bool live = false;
    std::size_t capacity = 4;  ///< frames that wait to be read; at least 1
  };

  FrameFeed();
  /// Throws InvalidArgument where the capacity is 0 or the rate is none.
  explicit FrameFeed(Settings settings);
  /// As end().
  ~FrameFeed();
  FrameFeed(const FrameFeed&) = delete;
  FrameFeed& operator=(const FrameFeed&) = delete;

  /// The source for the one stream that reads the frames; it may outlive the feed. Throws
  /// InvalidArgument the second time.
  std::unique_ptr<Source> source();

  /// Hands over the next frame, and waits while `capacity` of them wait; false where nobody reads
  /// any more, or the feed has ended.
  ///
  /// `image`: height × width × 3, 8 bit, BGR. `pts`: from the stream's start, later than the one
  /// before; where it is not given, the time since the first push, by the monotonic clock. The
  /// first frame is a start in any case. Throws InvalidArgument for other pixels or an earlier pts.
  bool push(cv::Mat image, std::optional<std::chrono::nanoseconds> pts = {},
            Discontinuity discontinuity = Discontinuity::none);
  /// The same without waiting: false also where there is no room, and then the frame counts as a
  /// gap before the next one.
  bool try_push(cv::Mat image, std::optional<std::chrono::nanoseconds> pts = {},
                Discontinuity discontinuity = Discontinuity::none);
  /// No frame will follow: the stream ends after those that were pushed. Twice is once.
  void end() noexcept;

 private:
  class Queue;
  class QueueSource;
  std::shared_ptr<Queue> queue_;
};

}  // namespace vcap
