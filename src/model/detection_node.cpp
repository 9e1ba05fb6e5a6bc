// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/detection_node.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using AttributeSets = std::map<std::string, std::set<std::string>>;

void collect_attributes(const DetectionNode& node, AttributeSets& sets) {
  for (const auto& [category, value] : node.attributes) sets[category].insert(value);
  for (const DetectionNode& child : node.children) collect_attributes(child, sets);
}

}  // namespace

BoundingBox DetectionNode::bbox() const {
  if (coords.empty()) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "node " + quote(name) + " has no box: its coords are empty");
  }
  return BoundingBox::around(coords);
}

void DetectionNode::scale(double x_factor, double y_factor) {
  for (cv::Point2d& point : coords) {
    point.x *= x_factor;
    point.y *= y_factor;
  }
  if (detection_bbox)
    *detection_bbox = {detection_bbox->x1 * x_factor, detection_bbox->y1 * y_factor,
                       detection_bbox->x2 * x_factor, detection_bbox->y2 * y_factor};
  for (Keypoint& keypoint : keypoints) {
    keypoint.point = {keypoint.point.x * x_factor, keypoint.point.y * y_factor};
    if (keypoint.z) *keypoint.z *= x_factor;
  }
  for (DetectionNode& child : children) child.scale(x_factor, y_factor);
}

void DetectionNode::offset(double x, double y) {
  for (cv::Point2d& point : coords) {
    point.x += x;
    point.y += y;
  }
  if (detection_bbox)
    *detection_bbox = {detection_bbox->x1 + x, detection_bbox->y1 + y, detection_bbox->x2 + x,
                       detection_bbox->y2 + y};
  for (Keypoint& keypoint : keypoints) keypoint.point += cv::Point2d(x, y);
  for (DetectionNode& child : children) child.offset(x, y);
}

AttributeSets DetectionNode::all_attributes() const {
  AttributeSets sets;
  collect_attributes(*this, sets);
  return sets;
}

std::optional<double> DetectionNode::confidence() const {
  if (!extra_data.is_object()) return std::nullopt;
  for (const char* const key : {"detection_confidence", "confidence"}) {
    const auto it = extra_data->find(key);
    if (it != extra_data->end() && it->is_number()) return it->get<double>();
  }
  return std::nullopt;
}

}  // namespace vcap
