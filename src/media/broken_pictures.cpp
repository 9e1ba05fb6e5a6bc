// SPDX-License-Identifier: Apache-2.0
#include "vcap/media/broken_pictures.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace vcap {

bool BrokenPictures::add(const std::string& name) {
  ++count;
  if (first.size() >= kMostNamed || std::ranges::count(first, name) > 0) return false;
  first.push_back(name);
  return true;
}

void BrokenPictures::add(const BrokenPictures& later) {
  const std::int64_t all = count + later.count;
  for (const std::string& name : later.first) add(name);
  count = all;
}

std::string to_string(const BrokenPictures& broken) {
  std::string text = std::to_string(broken.count);
  if (broken.first.empty()) return text;
  const auto named = static_cast<std::int64_t>(broken.first.size());
  for (const std::string& name : broken.first)
    text += (&name == &broken.first.front() ? " (" : ", ") + name;
  if (broken.count > named) text += ", and " + std::to_string(broken.count - named) + " more";
  return text + ")";
}

void to_json(nlohmann::json& json, const BrokenPictures& broken) {
  json = {{"count", broken.count}, {"first", broken.first}};
}

void from_json(const nlohmann::json& json, BrokenPictures& broken) {
  json.at("count").get_to(broken.count);
  json.at("first").get_to(broken.first);
}

}  // namespace vcap
