// SPDX-License-Identifier: Apache-2.0
#include "capsule/levels.hpp"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

namespace vcap::detail {
namespace {

bool has_more(std::span<const DetectionNode> nodes, std::size_t levels) {
  if (nodes.empty()) return false;
  if (levels == 0) return true;
  for (const DetectionNode& node : nodes)
    if (has_more_levels(*node.extra_data) || has_more(node.children, levels - 1)) return true;
  return false;
}

}  // namespace

bool has_more_levels(const nlohmann::json& value, std::size_t levels) {
  if (!value.is_structured()) return false;
  if (levels == 0) return true;
  // By their own iterators, which are quicker than those of nlohmann::json.
  if (const auto* const fields = value.get_ptr<const nlohmann::json::object_t*>())
    return std::ranges::any_of(
        *fields, [levels](const auto& field) { return has_more_levels(field.second, levels - 1); });
  return std::ranges::any_of(
      *value.get_ptr<const nlohmann::json::array_t*>(),
      [levels](const auto& element) { return has_more_levels(element, levels - 1); });
}

bool has_more_levels(const DetectionNodes& nodes) {
  return has_more(std::span(nodes.begin(), nodes.end()), kMostLevels);
}

}  // namespace vcap::detail
