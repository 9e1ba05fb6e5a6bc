// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/crop_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "image/frame_check.hpp"

namespace vcap {
namespace {

bool has_outline(const DetectionNode& node) {
  return !node.coords.empty() && std::ranges::all_of(node.coords, [](const cv::Point2d& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
  });
}

}  // namespace

NodeCrops crop_nodes(const cv::Mat& frame, const DetectionNodes& nodes,
                     const std::function<Crop(const DetectionNode&)>& crop_of) {
  check_frame(frame, "crop_nodes");
  NodeCrops crops;
  crops.images.reserve(nodes.size());
  crops.places.reserve(nodes.size());
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    const DetectionNode& node = nodes[place];
    std::optional<cv::Mat> image;
    if (has_outline(node))
      image = (crop_of ? crop_of(node) : Crop::from_node(node)).try_apply(frame);
    if (!image) {
      ++crops.skipped;
      continue;
    }
    crops.images.push_back(*std::move(image));
    crops.places.push_back(place);
  }
  return crops;
}

}  // namespace vcap
