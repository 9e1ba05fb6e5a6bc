// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// Keeps the best of boxes that overlap much. Takes the boxes by falling score, and drops a box if
/// its IoU with a box that was kept before is above `max_overlap`.
///
/// Gives the indices of the boxes that stay, by falling score; of equal scores the earlier box
/// counts as the better. With 0 no boxes overlap, with 1 all boxes stay. A box without area
/// overlaps nothing and stays. The result depends on the input alone.
///
/// The time is of order n·log n plus the number of pairs of a box and a kept box near it. It is
/// quadratic only if most boxes overlap each other and all stay.
///
/// Throws InvalidArgument if `max_overlap` is outside 0…1, the number of scores is not that of the
/// boxes, or a score is NaN. Source: the greedy form of P. F. Felzenszwalb et al., "Object
/// detection with discriminatively trained part-based models", IEEE PAMI 32(9), 2010, section 7,
/// with IoU as the overlap. Thread-safe.
VCAP_EXPORT std::vector<std::size_t> non_max_suppression(std::span<const BoundingBox> boxes,
                                                         std::span<const double> scores,
                                                         double max_overlap);

/// The same within each label: boxes of different labels never suppress each other. Gives one list
/// of all labels by falling score. Labels are any numbers, such as the model's class indices. Each
/// label is processed by itself, so many labels cost no more time than one. Throws InvalidArgument
/// as above, and if the number of labels is not that of the boxes.
VCAP_EXPORT std::vector<std::size_t> non_max_suppression(std::span<const BoundingBox> boxes,
                                                         std::span<const double> scores,
                                                         std::span<const std::size_t> labels,
                                                         double max_overlap);

/// The same for nodes and the boxes around them; names do not matter. In a list, nodes that stay
/// are ordered by falling score. Nodes of another kind (none, or a single node) are not changed.
/// Throws InvalidArgument as above, and if a node has no coords.
VCAP_EXPORT DetectionNodes non_max_suppression(DetectionNodes nodes, std::span<const double> scores,
                                               double max_overlap);

/// The same with each node's confidence() as its score. Throws InvalidArgument (invalid_node) if a
/// node of a list has no confidence.
VCAP_EXPORT DetectionNodes non_max_suppression(DetectionNodes nodes, double max_overlap);

}  // namespace vcap
