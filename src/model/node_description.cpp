// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/node_description.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/json_readers.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Texts = std::vector<std::string>;

bool contains(const Texts& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

/// What is in `texts` and not in `others`, in the order of `texts`.
Texts without(const Texts& texts, const Texts& others) {
  Texts rest;
  for (const std::string& text : texts) {
    if (!contains(others, text)) rest.push_back(text);
  }
  return rest;
}

std::set<std::string> as_set(const Texts& texts) { return {texts.begin(), texts.end()}; }

void check_attribute(const DetectionNode& node, const std::string& category,
                     const std::string& value, const Texts& allowed) {
  if (contains(allowed, value)) return;
  throw InvalidArgument(ErrorCode::invalid_node,
                        "node " + quote(node.name) + ": attribute " + quote(category) + " is " +
                            quote(value) + ", which is not one of " + quote_list(allowed));
}

NodeDescription::Size read_size(const JsonView& json) {
  using Size = NodeDescription::Size;
  for (const Size size : {Size::none, Size::single, Size::all}) {
    if (json.text() == to_string(size)) return size;
  }
  json.fail(R"("none", "single" or "all")");
}

}  // namespace

bool NodeDescription::describes(const DetectionNode& node) const {
  if (!detections.empty() && !contains(detections, node.name)) return false;
  bool complete = true;
  for (const auto& [category, allowed] : attributes) {
    const auto it = node.attributes.find(category);
    if (it == node.attributes.end()) {
      complete = false;  // go on: a wrong value further down is still an error
    } else {
      check_attribute(node, category, it->second, allowed);
    }
  }
  const auto has_key = [&](const std::string& key) { return node.extra_data.contains(key); };
  const auto has_keypoint = [&](const std::string& name) {
    return std::ranges::find(node.keypoints, name, &Keypoint::name) != node.keypoints.end();
  };
  return complete && (!encoded || node.encoding) && (!tracked || node.track_id) &&
         std::all_of(keypoints.begin(), keypoints.end(), has_keypoint) &&
         std::all_of(extra_data.begin(), extra_data.end(), has_key);
}

NodeDescription NodeDescription::difference(const NodeDescription& other) const {
  NodeDescription rest;
  rest.size = size;
  rest.detections = without(detections, other.detections);
  for (const auto& [category, values] : attributes) {
    const auto it = other.attributes.find(category);
    if (it == other.attributes.end()) {
      rest.attributes.emplace(category, values);
    } else if (Texts new_values = without(values, it->second); !new_values.empty()) {
      rest.attributes.emplace(category, std::move(new_values));
    }
  }
  rest.encoded = encoded && !other.encoded;
  rest.tracked = tracked && !other.tracked;
  rest.keypoints = without(keypoints, other.keypoints);
  rest.extra_data = without(extra_data, other.extra_data);
  return rest;
}

bool NodeDescription::operator==(const NodeDescription& other) const {
  const auto same_category = [](const auto& a, const auto& b) {
    return a.first == b.first && as_set(a.second) == as_set(b.second);
  };
  return size == other.size && encoded == other.encoded && tracked == other.tracked &&
         as_set(detections) == as_set(other.detections) &&
         as_set(keypoints) == as_set(other.keypoints) &&
         as_set(extra_data) == as_set(other.extra_data) &&
         std::equal(attributes.begin(), attributes.end(), other.attributes.begin(),
                    other.attributes.end(), same_category);
}

std::string_view to_string(NodeDescription::Size size) noexcept {
  switch (size) {
    case NodeDescription::Size::none:
      return "none";
    case NodeDescription::Size::single:
      return "single";
    case NodeDescription::Size::all:
      return "all";
  }
  return "unknown";
}

void to_json(nlohmann::json& json, const NodeDescription& description) {
  json = {{"size", to_string(description.size)}};
  if (!description.detections.empty()) json["detections"] = description.detections;
  if (!description.attributes.empty()) json["attributes"] = description.attributes;
  if (description.encoded) json["encoded"] = true;
  if (description.tracked) json["tracked"] = true;
  if (!description.keypoints.empty()) json["keypoints"] = description.keypoints;
  if (!description.extra_data.empty()) json["extra_data"] = description.extra_data;
}

NodeDescription read_node_description(const JsonView& json) {
  NodeDescription description;
  description.size = read_size(json["size"]);
  if (const auto detections = json.find("detections")) description.detections = detections->texts();
  if (const auto attributes = json.find("attributes")) {
    for (const auto& [category, values] : attributes->fields()) {
      description.attributes.emplace(category, values.texts());
    }
  }
  if (const auto encoded = json.find("encoded")) description.encoded = encoded->boolean();
  if (const auto tracked = json.find("tracked")) description.tracked = tracked->boolean();
  if (const auto keypoints = json.find("keypoints")) description.keypoints = keypoints->texts();
  if (const auto extra_data = json.find("extra_data")) description.extra_data = extra_data->texts();
  return description;
}

void from_json(const nlohmann::json& json, NodeDescription& description) {
  description = read_node_description(JsonView(json));
}

}  // namespace vcap
