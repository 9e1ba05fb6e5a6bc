// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/keypoint.hpp"

#include <nlohmann/json.hpp>

#include "model/json_readers.hpp"

namespace vcap {

void to_json(nlohmann::json& json, const Keypoint& keypoint) {
  json = {{"name", keypoint.name}, {"x", keypoint.point.x}, {"y", keypoint.point.y}};
  if (keypoint.z) json["z"] = *keypoint.z;
  if (keypoint.confidence) json["confidence"] = *keypoint.confidence;
}

Keypoint read_keypoint(const JsonView& json) {
  Keypoint keypoint;
  keypoint.name = json["name"].text();
  keypoint.point = {json["x"].number(), json["y"].number()};
  if (const auto z = json.find("z")) keypoint.z = z->number();
  if (const auto confidence = json.find("confidence")) keypoint.confidence = confidence->number();
  return keypoint;
}

void from_json(const nlohmann::json& json, Keypoint& keypoint) {
  keypoint = read_keypoint(JsonView(json));
}

}  // namespace vcap
