// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/picture_map.hpp"

namespace vcap {

cv::Point2d PictureMap::to_frame(cv::Point2d point) const noexcept {
  return {x_scale * point.x + x_shift, y_scale * point.y + y_shift};
}

cv::Point2d PictureMap::from_frame(cv::Point2d point) const noexcept {
  return {(point.x - x_shift) / x_scale, (point.y - y_shift) / y_scale};
}

BoundingBox PictureMap::to_frame(const BoundingBox& box) const noexcept {
  return {x_scale * box.x1 + x_shift, y_scale * box.y1 + y_shift, x_scale * box.x2 + x_shift,
          y_scale * box.y2 + y_shift};
}

void PictureMap::to_frame(DetectionNode& node) const noexcept {
  for (cv::Point2d& point : node.coords) point = to_frame(point);
  if (node.detection_bbox) node.detection_bbox = to_frame(*node.detection_bbox);
  for (Keypoint& keypoint : node.keypoints) {
    keypoint.point = to_frame(keypoint.point);
    if (keypoint.z) *keypoint.z *= x_scale;
  }
  for (DetectionNode& child : node.children) to_frame(child);
}

}  // namespace vcap
