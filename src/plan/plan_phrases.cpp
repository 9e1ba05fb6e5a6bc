// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_phrases.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

namespace vcap::plan_phrases {

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names common(const Names& a, const Names& b) {
  Names both;
  std::copy_if(a.begin(), a.end(), std::back_inserter(both),
               [&b](const std::string& name) { return contains(b, name); });
  return both;
}

Names without(const Names& a, const Names& b) {
  Names rest;
  std::copy_if(a.begin(), a.end(), std::back_inserter(rest),
               [&b](const std::string& name) { return !contains(b, name); });
  return rest;
}

std::string join(const Names& names, std::string_view between) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += between;
    text += name;
  }
  return text;
}

Names properties(const NodeDescription& description) {
  Names words;
  for (const auto& [category, values] : description.attributes)
    words.push_back("attribute " + category);
  if (description.encoded) words.emplace_back("encoded");
  if (description.tracked) words.emplace_back("tracked");
  for (const std::string& name : description.keypoints) words.push_back("keypoint " + name);
  for (const std::string& key : description.extra_data) words.push_back("extra_data " + key);
  return words;
}

std::string describe(const NodeDescription& description) {
  Names words = description.detections;
  for (std::string& word : properties(description)) words.push_back(std::move(word));
  return join(words);
}

Names describe(const std::vector<PictureDescription>& pictures, bool with_type) {
  Names words;
  for (const PictureDescription& picture : pictures)
    words.push_back("picture " + (with_type ? to_string(picture) : picture.name));
  return words;
}

std::string describe_needs(const NodeDescription& needs) {
  NodeDescription shown = needs;
  if (shown.detections.empty()) shown.detections.emplace_back("any node");
  const std::string words = describe(shown);
  switch (needs.size) {
    case NodeDescription::Size::none:
      return "the frame alone";
    case NodeDescription::Size::single:
      return "one node at a time: " + words;
    case NodeDescription::Size::all:
      return "all nodes at once: " + words;
  }
  return {};
}

}  // namespace vcap::plan_phrases
