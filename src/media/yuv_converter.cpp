// SPDX-License-Identifier: Apache-2.0
#include "media/yuv_converter.hpp"

#include <new>

#include <opencv2/core.hpp>

namespace vcap {
namespace {

/// swscale may read some pixels beyond the end of a line. After the last one, memory may end.
constexpr int kBeyondLine = 64;

}  // namespace

YuvConverter::YuvConverter(cv::Size picture, AVPixelFormat form)
    : picture_(picture),
      size_(picture.width + picture.width % 2, picture.height + picture.height % 2),
      // Without accurate rounding, pictures get darker by two levels, and colours are those of one
      // pixel of four.
      context_(sws_getContext(size_.width, size_.height, AV_PIX_FMT_BGR24, size_.width,
                              size_.height, form, SWS_AREA | SWS_ACCURATE_RND, nullptr, nullptr,
                              nullptr)),
      direct_(picture == size_ ? size_.height - 2 : 0),
      padded_(size_.height - direct_, size_.width + kBeyondLine, CV_8UC3) {
  if (!context_) throw std::bad_alloc();
}

void YuvConverter::convert(const cv::Mat& picture, AVFrame& frame) {
  if (direct_ > 0) scale(picture, 0, direct_, frame);
  cv::Mat rest = padded_(cv::Rect(0, 0, size_.width, padded_.rows));
  cv::copyMakeBorder(picture.rowRange(direct_, picture.rows), rest, 0,
                     size_.height - picture_.height, 0, size_.width - picture_.width,
                     cv::BORDER_REPLICATE);
  scale(rest, direct_, rest.rows, frame);
}

void YuvConverter::scale(const cv::Mat& lines, int first, int count, AVFrame& frame) {
  const std::uint8_t* const data[] = {lines.data, nullptr, nullptr, nullptr};
  const int steps[] = {static_cast<int>(lines.step), 0, 0, 0};
  sws_scale(context_.get(), data, steps, first, count, frame.data, frame.linesize);
}

}  // namespace vcap
