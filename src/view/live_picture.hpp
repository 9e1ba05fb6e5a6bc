// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <opencv2/core/mat.hpp>

#include "vcap/image/annotator.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// A frame with its results drawn on it, as a JPEG that all who look share. Thread safety: value.
struct LivePicture {
  std::string stream{};
  std::int64_t frame = 0;
  double pts = 0;  ///< seconds
  int width = 0;   ///< that was asked for; a small frame keeps its size
  cv::Size size{};
  cv::Size source{};  ///< of the frame
  std::shared_ptr<const std::string> jpeg{};
};

/// The widths in which pictures are made, so that a picture is encoded few times whatever clients
/// ask for: 320, 640 or 1280; the next one at or above `width`.
int live_width(int width) noexcept;

/// Makes pictures of frames, one after the other, and keeps the memory of their pixels for the next
/// one. Thread safety: not thread-safe.
class LiveCanvas {
 public:
  /// The frame, and on it what `annotator` draws. Throws what the annotator throws.
  void draw(const FrameRecord& record, Annotator& annotator);
  /// What was drawn last, as a picture of its record. Throws OutputError (output_write).
  LivePicture encode(const FrameRecord& record, int width);

 private:
  cv::Mat drawn_{};   ///< in the frame's size
  cv::Mat scaled_{};  ///< the same, smaller
};

}  // namespace vcap
