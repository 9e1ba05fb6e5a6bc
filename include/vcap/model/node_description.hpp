// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// Describes the input or output nodes of a capsule.
///
/// As an output type it is a promise, which is checked (OutputPolicy): nodes have nothing that it
/// does not list. If it lists one name, each node of that name has everything that it lists, except
/// keypoints (children only if the capsule takes no nodes). If it lists several names, it does not
/// say which of them has what. If it lists no name ("whatever came in, plus ..."), nodes have names
/// of nodes that the capsule was given, and each has everything else that it lists, except
/// keypoints; only a capsule that takes nodes may declare that. Thread safety: value.
struct VCAP_EXPORT NodeDescription {
  /// How many nodes one call handles: none (only the frame), a single one, or all nodes that fit.
  enum class Size { none, single, all };

  Size size = Size::none;
  std::vector<std::string> detections{};                         ///< names that a node may have
  std::map<std::string, std::vector<std::string>> attributes{};  ///< category to its allowed values
  bool encoded = false;
  bool tracked = false;
  std::vector<std::string> keypoints{};   ///< names of the points that a node has
  std::vector<std::string> extra_data{};  ///< keys that a node has

  /// Whether the node has everything that this description requires: one of the names (any, if the
  /// list is empty), each attribute category, an encoding, a track id, each keypoint and each
  /// extra_data key. It may have more; `size` and children do not matter. Throws InvalidArgument
  /// (invalid_node) if the name fits and an attribute's value is outside its list, even if the node
  /// lacks something else.
  bool describes(const DetectionNode& node) const;

  /// What is here and not in `other`, in the order of this description and with its `size`: names,
  /// keys, flags, and for each attribute category the values that `other` does not have. The
  /// capability of a capsule is `output_type.difference(input_type)`.
  NodeDescription difference(const NodeDescription& other) const;

  /// Compares lists as sets: neither order nor repetition matters.
  bool operator==(const NodeDescription& other) const;
};

/// "none", "single" or "all".
VCAP_EXPORT std::string_view to_string(NodeDescription::Size size) noexcept;

/// Absent, false and empty members are left out. from_json requires only "size", and throws
/// InvalidArgument (invalid_json) that names the wrong field by its JSON pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const NodeDescription& description);
VCAP_EXPORT void from_json(const nlohmann::json& json, NodeDescription& description);

}  // namespace vcap
