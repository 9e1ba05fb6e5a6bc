// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/clamp.hpp"

#include <utility>

#include "image/frame_check.hpp"
#include "vcap/image/resize.hpp"

namespace vcap {

Clamp::Clamp(const cv::Mat& frame, int max_width, int max_height) : image_(frame) {
  check_frame(frame, "clamp");
  check_size({max_width, max_height}, "clamp");
  if (frame.cols <= max_width && frame.rows <= max_height) return;
  image_ = Resize(frame).fit_both({max_width, max_height}).image();
  x_factor_ = double(frame.cols) / image_.cols;
  y_factor_ = double(frame.rows) / image_.rows;
}

DetectionNodes Clamp::scale_nodes(DetectionNodes nodes) const {
  for (DetectionNode& node : nodes) node.scale(x_factor_, y_factor_);
  return nodes;
}

}  // namespace vcap
