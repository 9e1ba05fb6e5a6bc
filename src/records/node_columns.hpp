// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "records/frame_table.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// The columns of a node in CSV, behind those of its frame. "node" is its place: "2.0" is the first
/// child of the third node. Lists and objects are JSON, as in records.
inline constexpr std::array<std::string_view, 14> kNodeColumns{"node",
                                                               "name",
                                                               "x",
                                                               "y",
                                                               "w",
                                                               "h",
                                                               "coords",
                                                               "track_id",
                                                               "confidence",
                                                               "attributes",
                                                               "detection_bbox",
                                                               "keypoints",
                                                               "encoding",
                                                               "extra_data"};

/// The node's fields behind "node", each with a comma before it.
std::string node_fields(const DetectionNode& node);

/// The node of a row, without children. If it has no coords, its box gives them. Throws
/// InvalidArgument that names place and column.
DetectionNode read_node_fields(const InputFile& input, const std::string& place,
                               const TableColumns& columns, const std::vector<std::string>& row);

}  // namespace vcap
