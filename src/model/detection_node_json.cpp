// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/json_readers.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {
namespace {

/// The deepest level of children that is accepted: reading recurses, and a hostile document must
/// not exhaust the stack.
constexpr int kDeepestLevel = 128;

/// Numbers below this round to a finite float: the greatest float plus half a step.
constexpr double kFloatLimit = 0x1.ffffffp127;

/// The float nearest to the number, which is below the limit. A plain conversion is undefined above
/// the greatest float, and its shortest text, 3.4028235e+38, is above it.
float nearest_float(double number) {
  constexpr double greatest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(number, -greatest, greatest));
}

/// The double that prints in as few digits as the float needs: 0.1 and not 0.10000000149011612.
/// This halves the size of an encoding and still gives the same float back.
double shortest_double(float value) {
  std::array<char, 32> buffer{};
  const auto [end, written] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  double shortest = 0;
  std::from_chars(buffer.data(), end, shortest);
  // True for every finite float; NaN and infinities are kept as they are.
  return nearest_float(shortest) == value ? shortest : double{value};
}

nlohmann::json coords_to_json(const Coords& coords) {
  nlohmann::json points = nlohmann::json::array();
  for (const cv::Point2d& point : coords) {
    points.push_back(nlohmann::json::array({point.x, point.y}));
  }
  return points;
}

nlohmann::json encoding_to_json(const std::vector<float>& encoding) {
  nlohmann::json numbers = nlohmann::json::array();
  for (const float value : encoding) numbers.push_back(shortest_double(value));
  return numbers;
}

Coords read_coords(const JsonView& json) {
  Coords coords;
  for (const JsonView& point : json.elements()) {
    if (!point.value().is_array() || point.value().size() != 2) point.fail("a point [x, y]");
    const auto xy = point.elements();
    coords.emplace_back(xy[0].number(), xy[1].number());
  }
  return coords;
}

std::vector<float> read_encoding(const JsonView& json) {
  std::vector<float> encoding;
  for (const JsonView& element : json.elements()) {
    const double number = element.number();
    if (std::abs(number) >= kFloatLimit) element.fail("a number that fits a 32-bit float");
    encoding.push_back(nearest_float(number));
  }
  return encoding;
}

Uuid read_uuid(const JsonView& json) {
  const std::string& text = json.text();
  try {
    return Uuid::parse(text);
  } catch (const InvalidArgument& error) {
    json.complain(error.what());
  }
}

DetectionNode read_node(const JsonView& json, int level) {
  if (level > kDeepestLevel) {
    json.complain("nodes are nested more than " + std::to_string(kDeepestLevel) + " levels deep");
  }
  DetectionNode node;
  node.name = json["name"].text();
  if (const auto coords = json.find("coords")) node.coords = read_coords(*coords);
  if (const auto attributes = json.find("attributes")) {
    for (const auto& [category, value] : attributes->fields()) {
      node.attributes.emplace(category, value.text());
    }
  }
  if (const auto box = json.find("detection_bbox")) node.detection_bbox = read_bounding_box(*box);
  if (const auto keypoints = json.find("keypoints")) {
    for (const JsonView& keypoint : keypoints->elements())
      node.keypoints.push_back(read_keypoint(keypoint));
  }
  if (const auto track_id = json.find("track_id")) node.track_id = read_uuid(*track_id);
  if (const auto encoding = json.find("encoding")) node.encoding = read_encoding(*encoding);
  if (const auto extra_data = json.find("extra_data")) {
    if (!extra_data->value().is_object()) extra_data->fail("an object");
    node.extra_data = extra_data->value();
  }
  if (const auto children = json.find("children")) {
    for (const JsonView& child : children->elements()) {
      node.children.push_back(read_node(child, level + 1));
    }
  }
  return node;
}

}  // namespace

void to_json(nlohmann::json& json, const DetectionNode& node) {
  json = nlohmann::json::object();
  json["name"] = node.name;
  if (!node.coords.empty()) {
    json["bbox"] = node.bbox();
    json["coords"] = coords_to_json(node.coords);
  }
  if (!node.attributes.empty()) json["attributes"] = node.attributes;
  if (node.detection_bbox) json["detection_bbox"] = *node.detection_bbox;
  if (!node.keypoints.empty()) json["keypoints"] = node.keypoints;
  if (node.track_id) json["track_id"] = node.track_id->to_string();
  if (const auto confidence = node.confidence()) json["confidence"] = *confidence;
  if (node.encoding) json["encoding"] = encoding_to_json(*node.encoding);
  // Null is the moved-from value and means the same as an empty object.
  if (!node.extra_data.empty()) json["extra_data"] = node.extra_data;
  if (!node.children.empty()) json["children"] = node.children;
}

DetectionNode read_detection_node(const JsonView& json) { return read_node(json, 1); }

void from_json(const nlohmann::json& json, DetectionNode& node) {
  node = read_detection_node(JsonView(json));
}

}  // namespace vcap
