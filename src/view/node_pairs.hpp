// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "vcap/model/bounding_box.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// An object of one frame in two runs. At least one of the nodes is there. Borrows. Thread safety:
/// value.
struct NodePair {
  const DetectionNode* a = nullptr;
  const DetectionNode* b = nullptr;
  std::optional<BoundingBox> box_a{};  ///< absent if the node has no outline
  std::optional<BoundingBox> box_b{};
  double iou = 0;  ///< of both boxes; 1 if they are equal, also without area
};

/// Pairs the objects of a frame and their children, as Comparison says: by name in alphabetical
/// order; then pairs of two names, and nodes without a partner. Thread-safe.
std::vector<NodePair> pair_nodes(const std::vector<DetectionNode>& a,
                                 const std::vector<DetectionNode>& b, double min_iou);

}  // namespace vcap
