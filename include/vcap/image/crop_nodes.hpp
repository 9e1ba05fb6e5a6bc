// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/image/crop.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// The pictures of some nodes, without those that cannot be cut out. Thread safety: value; the
/// pictures share the frame's pixels.
struct NodeCrops {
  std::vector<cv::Mat> images{};      ///< views of the frame, none empty
  std::vector<std::size_t> places{};  ///< for each image, the place of its node in the list
  std::size_t skipped = 0;            ///< nodes without a picture; they have no place
};

/// Cuts out each node's part of the frame, for a model that takes a picture of each. One bad box
/// must not fail a whole frame: a node without coords, without area, outside the frame, or with
/// coords that are not finite is skipped and counted; Crop::apply() throws instead.
///
///     const vcap::NodeCrops crops = vcap::crop_nodes(frame.image, nodes);
///     const std::vector<Verdict> verdicts = predict_all(crops.images);
///     for (std::size_t i = 0; i < verdicts.size(); ++i)
///       nodes[crops.places[i]].attributes["kind"] = verdicts[i].kind;
///
/// `crop_of` gives the crop of a node that has coords, for padding; empty: Crop::from_node.
/// Children are not cut out. Throws InvalidArgument if the frame has no pixels, and what `crop_of`
/// throws. Thread-safe.
VCAP_EXPORT NodeCrops crop_nodes(const cv::Mat& frame, const DetectionNodes& nodes,
                                 const std::function<Crop(const DetectionNode&)>& crop_of = {});

}  // namespace vcap
