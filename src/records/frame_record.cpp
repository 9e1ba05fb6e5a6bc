// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/frame_record.hpp"

#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "records/record_line.hpp"
#include "vcap/model/picture_description.hpp"

namespace vcap {
namespace {

template <class Json>
Json drops_to_json(const std::vector<FrameRecord::Drop>& drops) {
  Json list = Json::array();
  for (const FrameRecord::Drop& drop : drops) {
    Json& json =
        list.emplace_back(Json{{"frame_index", drop.frame_index}, {"reason", drop.reason}});
    if (drop.count > 1) json["count"] = drop.count;
  }
  return list;
}

template <class Json>
Json errors_to_json(const std::vector<FrameRecord::CapsuleError>& errors) {
  Json list = Json::array();
  for (const FrameRecord::CapsuleError& error : errors)
    list.push_back({{"capsule", error.capsule}, {"code", error.code}, {"message", error.message}});
  return list;
}

template <class Json>
Json option_changes_to_json(const std::vector<FrameRecord::OptionChange>& changes) {
  Json list = Json::array();
  for (const FrameRecord::OptionChange& change : changes) {
    Json entry = {{"capsule", change.capsule}, {"option", change.option}};
    std::visit([&entry](const auto& value) { entry["value"] = value; }, change.value);
    list.push_back(std::move(entry));
  }
  return list;
}

template <class Json>
Json replacements_to_json(const std::vector<FrameRecord::Replacement>& replacements) {
  Json list = Json::array();
  for (const FrameRecord::Replacement& one : replacements)
    list.push_back({{"capsule", one.capsule},
                    {"from_version", one.from_version},
                    {"to_version", one.to_version}});
  return list;
}

template <class Json>
Json config_changes_to_json(const std::vector<FrameRecord::ConfigChange>& changes) {
  Json list = Json::array();
  for (const FrameRecord::ConfigChange& change : changes)
    list.push_back(Json{{"capsule", change.capsule},
                        {"config", Json(*change.config)},
                        {"keep_state", change.keep_state}});
  return list;
}

template <class Json>
Json pictures_to_json(const std::vector<FrameRecord::Picture>& pictures) {
  Json list = Json::array();
  for (const FrameRecord::Picture& picture : pictures)
    list.push_back(Json{{"name", picture.name},
                        {"type", picture_type_text(picture.type)},
                        {"width", picture.size.width},
                        {"height", picture.size.height}});
  return list;
}

/// The schema is written once, here, for both JSON types: nlohmann::json sorts its keys,
/// ordered_json keeps their order.
template <class Json, class ObjectToJson>
Json record_to_json(const FrameRecord& record, ObjectToJson object_to_json) {
  const Frame& frame = record.frame;
  Json json = Json::object();
  json["schema"] = "vcap.frame/1";
  json["stream_id"] = record.stream_id;
  if (record.group) json["group"] = *record.group;
  json["frame_index"] = frame.index;
  json["pts_ns"] = frame.pts.count();
  if (frame.discontinuity != Discontinuity::none)
    json["discontinuity"] = to_string(frame.discontinuity);
  if (!frame.source_file.empty()) json["source_file"] = frame.source_file;
  if (frame.is_null) {
    json["null"] = true;
  } else {
    const cv::Size size = frame.image.empty() ? record.resolution : frame.image.size();
    json["resolution"]["width"] = size.width;
    json["resolution"]["height"] = size.height;
  }
  json["objects"] = Json::array();
  for (const DetectionNode& object : record.objects)
    json["objects"].push_back(object_to_json(object));
  if (!record.pictures.empty()) json["pictures"] = pictures_to_json<Json>(record.pictures);
  if (!record.drops.empty()) json["drops"] = drops_to_json<Json>(record.drops);
  if (!record.errors.empty()) json["errors"] = errors_to_json<Json>(record.errors);
  if (!record.warnings.empty()) json["warnings"] = errors_to_json<Json>(record.warnings);
  if (!record.option_changes.empty())
    json["option_changes"] = option_changes_to_json<Json>(record.option_changes);
  if (!record.replacements.empty())
    json["replacements"] = replacements_to_json<Json>(record.replacements);
  if (!record.config_changes.empty())
    json["config_changes"] = config_changes_to_json<Json>(record.config_changes);
  return json;
}

/// A node's JSON, with its keys in schema order.
nlohmann::ordered_json in_schema_order(nlohmann::json&& node) {
  constexpr std::array<std::string_view, 10> kOrder{
      "name",       "bbox",     "coords",     "detection_bbox", "keypoints",
      "attributes", "track_id", "confidence", "encoding",       "extra_data"};
  nlohmann::ordered_json ordered = nlohmann::ordered_json::object();
  for (const std::string_view key : kOrder) {
    const auto found = node.find(key);
    if (found == node.end()) continue;
    if (key == "bbox" || key == "detection_bbox")
      for (const char* side : {"x", "y", "w", "h"})
        ordered[std::string(key)][side] = found->at(side);
    else
      ordered[std::string(key)] = *found;
  }
  if (const auto children = node.find("children"); children != node.end())
    for (nlohmann::json& child : *children)
      ordered["children"].push_back(in_schema_order(std::move(child)));
  return ordered;
}

}  // namespace

void to_json(nlohmann::json& json, const FrameRecord& record) {
  json = record_to_json<nlohmann::json>(
      record, [](const DetectionNode& node) { return nlohmann::json(node); });
}

std::string record_line(const FrameRecord& record) {
  const auto json = record_to_json<nlohmann::ordered_json>(
      record, [](const DetectionNode& node) { return in_schema_order(nlohmann::json(node)); });
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace vcap
