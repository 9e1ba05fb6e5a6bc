// SPDX-License-Identifier: Apache-2.0
#include "cli/describe.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "capsule/describe_schema.hpp"
#include "capsule/schema_expansion.hpp"
#include "vcap/capsule/device.hpp"

namespace vcap::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string shown(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}
std::string shown(std::int64_t number) { return std::to_string(number); }

template <class Bounded>
std::string describe_bounded(const char* kind, const Bounded& option) {
  std::string text = kind;
  if (option.min) text += " from " + shown(*option.min);
  if (option.max) text += (option.min ? " to " : " up to ") + shown(*option.max);
  return text + ", default " + shown(option.default_value);
}

struct Describer {
  std::string operator()(const FloatOption& option) const {
    return describe_bounded("a number", option);
  }
  std::string operator()(const IntOption& option) const {
    return describe_bounded("a whole number", option);
  }
  std::string operator()(const BoolOption& option) const {
    return std::string("true or false, default ") + (option.default_value ? "true" : "false");
  }
  std::string operator()(const EnumOption& option) const {
    return "one of " + joined(option.choices) + "; default " + option.default_value;
  }
  std::string operator()(const TextOption& option) const {
    return "text, default \"" + option.default_value + "\"";
  }
};

void add_properties(const nlohmann::json& schema, const std::string& place,
                    std::vector<std::string>& lines) {
  const nlohmann::json required = schema.value("required", nlohmann::json::array());
  const nlohmann::json properties = schema.value("properties", nlohmann::json::object());
  for (const auto& [name, property] : properties.items()) {
    const auto own = nlohmann::json::json_pointer(place) / name;
    std::string line = own.to_string() + ": " + detail::describe_schema(property);
    if (property.contains("default"))
      line += ", default " + property["default"].dump();
    else if (std::ranges::find(required, nlohmann::json(name)) != required.end())
      line += ", required";
    if (property.contains("description")) line += "  " + property["description"].get<std::string>();
    lines.push_back(std::move(line));
    add_properties(property, own.to_string(), lines);
  }
}

}  // namespace

/// Shortens a long list; face meshes have hundreds of keypoints.
std::string shortened(std::vector<std::string> names) {
  constexpr std::size_t kShown = 6;
  if (names.size() <= kShown) return joined(names);
  names.resize(kShown);
  return joined(names) + ", …";
}

std::string describe(const NodeDescription& description) {
  if (description.size == NodeDescription::Size::none) return "the frame alone";
  std::string text = description.size == NodeDescription::Size::single ? "one " : "all ";
  text += description.detections.empty() ? "nodes" : joined(description.detections);
  for (const auto& [category, values] : description.attributes)
    text += "; " + category + " (" + joined(values) + ")";
  if (description.encoded) text += "; encoded";
  if (description.tracked) text += "; tracked";
  if (!description.keypoints.empty())
    text += "; " + std::to_string(description.keypoints.size()) + " keypoints (" +
            shortened(description.keypoints) + ")";
  if (!description.extra_data.empty()) text += "; with " + joined(description.extra_data);
  return text;
}

std::string describe(const Option& option) { return std::visit(Describer(), option); }

std::vector<std::string> describe_properties(const nlohmann::json& schema) {
  std::vector<std::string> lines;
  add_properties(detail::expanded_schema(JsonView(schema)).schema, "", lines);
  return lines;
}

detail::DeviceDivision divide_devices(const DeviceSet& set) {
  std::vector<std::string> names;
  for (Device& device : discover_devices()) names.push_back(std::move(device.name));
  return detail::divide(names, set);
}

}  // namespace vcap::cli
