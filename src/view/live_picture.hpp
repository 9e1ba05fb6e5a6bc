// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <opencv2/core/types.hpp>

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

/// The frame with what `annotator` draws on it, in its own size. Throws what the annotator throws.
cv::Mat draw_live_frame(const FrameRecord& record, Annotator& annotator);
/// `drawn` as a picture of the record. Throws OutputError (output_write).
LivePicture encode_live_picture(const FrameRecord& record, const cv::Mat& drawn, int width);

}  // namespace vcap
