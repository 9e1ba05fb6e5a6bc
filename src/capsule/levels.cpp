// SPDX-License-Identifier: Apache-2.0
#include "capsule/levels.hpp"

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
  for (const nlohmann::json& element : value)
    if (has_more_levels(element, levels - 1)) return true;
  return false;
}

bool has_more_levels(const DetectionNodes& nodes) {
  return has_more(std::span(nodes.begin(), nodes.end()), kMostLevels);
}

}  // namespace vcap::detail
