// SPDX-License-Identifier: Apache-2.0
#include "records/node_columns.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/strict_json.hpp"
#include "records/csv.hpp"
#include "records/export_names.hpp"
#include "records/record_line.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::array<const char*, 6> kJsonColumns{"coords",    "attributes", "detection_bbox",
                                                  "keypoints", "encoding",   "extra_data"};

nlohmann::json node_without_children(const DetectionNode& node) {
  if (node.children.empty()) return node;
  DetectionNode alone = node;  // its children would become JSON for nothing
  alone.children.clear();
  return alone;
}

std::string json_field(const nlohmann::json& node, const char* key) {
  const auto found = node.find(key);
  if (found == node.end()) return ",";
  return ',' + csv_field(found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json json_in(const InputFile& input, const std::string& place, const std::string& text,
                       const char* column) {
  try {
    return parse_strictly(text, kMostRecordLevels);
  } catch (const InvalidArgument& error) {
    input.fail(place, std::string(column) + ": " + error.what() + "; it must be JSON");
  }
}

/// The box of x, y, w and h, if all are there.
Coords box_in(const InputFile& input, const std::string& place, const TableColumns& columns,
              const std::vector<std::string>& row) {
  std::array<double, 4> values{};
  std::size_t count = 0;
  for (const char* const name : {"x", "y", "w", "h"}) {
    const std::string& text = columns.field(row, name);
    if (!text.empty()) values[count++] = input.number_in(text, name, place);
  }
  if (count == 0) return {};
  if (count < 4) input.fail(place, "of x, y, w and h, one is empty; give all four or none");
  return rect_to_coords(input.box(values[0], values[1], values[2], values[3], place));
}

}  // namespace

std::string node_fields(const DetectionNode& node) {
  const nlohmann::json json = node_without_children(node);
  std::string text = ',' + csv_field(node.name);
  if (node.coords.empty()) {
    text += ",,,,";
  } else {
    for (const double value : node.bbox().xywh().val) text += ',' + plain_number(value);
  }
  text += json_field(json, "coords");
  text += ',' + (node.track_id ? node.track_id->to_string() : std::string());
  const auto confidence = node.confidence();
  text += ',' + (confidence ? plain_number(*confidence) : std::string());
  for (const char* const key :
       {"attributes", "detection_bbox", "keypoints", "encoding", "extra_data"})
    text += json_field(json, key);
  return text;
}

DetectionNode read_node_fields(const InputFile& input, const std::string& place,
                               const TableColumns& columns, const std::vector<std::string>& row) {
  nlohmann::json json{{"name", columns.field(row, "name")}};
  for (const char* const column : kJsonColumns)
    if (const std::string& text = columns.field(row, column); !text.empty())
      json[column] = json_in(input, place, text, column);
  if (const std::string& track = columns.field(row, "track_id"); !track.empty())
    json["track_id"] = track;
  DetectionNode node;
  try {
    node = json.get<DetectionNode>();
  } catch (const InvalidArgument& error) {
    input.fail(place, error.what());
  }
  if (node.coords.empty()) node.coords = box_in(input, place, columns, row);
  const std::string& confidence = columns.field(row, "confidence");
  if (!confidence.empty() && !node.confidence())
    node.extra_data["confidence"] = input.number_in(confidence, "confidence", place);
  return node;
}

}  // namespace vcap
