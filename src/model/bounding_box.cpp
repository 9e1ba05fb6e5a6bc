// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/bounding_box.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "model/json_readers.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

BoundingBox BoundingBox::around(const Coords& coords) {
  if (coords.empty()) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "cannot make a box around 0 points; give at least one");
  }
  BoundingBox box{coords[0].x, coords[0].y, coords[0].x, coords[0].y};
  for (const cv::Point2d& point : coords) {
    box.x1 = std::min(box.x1, point.x);
    box.y1 = std::min(box.y1, point.y);
    box.x2 = std::max(box.x2, point.x);
    box.y2 = std::max(box.y2, point.y);
  }
  return box;
}

Coords rect_to_coords(const cv::Rect2d& rect) {
  return rect_to_coords(BoundingBox{rect.x, rect.y, rect.x + rect.width, rect.y + rect.height});
}

Coords rect_to_coords(const BoundingBox& box) {
  return {{box.x1, box.y1}, {box.x2, box.y1}, {box.x2, box.y2}, {box.x1, box.y2}};
}

void to_json(nlohmann::json& json, const BoundingBox& box) {
  json = {{"x", box.x1}, {"y", box.y1}, {"w", box.width()}, {"h", box.height()}};
}

BoundingBox read_bounding_box(const JsonView& json) {
  const double x = json["x"].number();
  const double y = json["y"].number();
  return {x, y, x + json["w"].number(), y + json["h"].number()};
}

void from_json(const nlohmann::json& json, BoundingBox& box) {
  box = read_bounding_box(JsonView(json));
}

}  // namespace vcap
