// SPDX-License-Identifier: Apache-2.0
#include "view/live_picture.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "media/opencv_io.hpp"

namespace vcap {

int live_width(int width) noexcept { return width <= 320 ? 320 : width <= 640 ? 640 : 1280; }

cv::Mat draw_live_frame(const FrameRecord& record, Annotator& annotator) {
  cv::Mat image = record.frame.image.clone();
  annotator.annotate(image, record.objects, record.frame);
  return image;
}

LivePicture encode_live_picture(const FrameRecord& record, const cv::Mat& drawn, int width) {
  constexpr int kJpegQuality = 80;
  cv::Mat image = drawn;
  if (drawn.cols > width)
    cv::resize(drawn, image, {width, std::max(1, drawn.rows * width / drawn.cols)}, 0, 0,
               cv::INTER_AREA);
  const std::vector<unsigned char> jpeg = opencv_io().encode_image(image, ".jpg", kJpegQuality);
  return {.stream = record.stream_id,
          .frame = record.frame.index,
          .pts = std::chrono::duration<double>(record.frame.pts).count(),
          .width = width,
          .size = image.size(),
          .source = drawn.size(),
          .jpeg = std::make_shared<const std::string>(jpeg.begin(), jpeg.end())};
}

}  // namespace vcap
