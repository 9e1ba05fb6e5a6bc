// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/image/annotator.hpp"

namespace vcap {

/// A line between two keypoints of a node, by their names. Thread safety: value.
struct Bone {
  std::string from{};
  std::string to{};

  bool operator==(const Bone&) const = default;
};

/// The bones of a person by the names that pose networks commonly use, such as "left_knee": those
/// of the 17 keypoints of COCO, and the hands and feet of BlazePose.
VCAP_EXPORT std::vector<Bone> pose_skeleton();

/// How a KeypointAnnotator draws. Thread safety: value.
struct KeypointSettings {
  /// A bone of which a node lacks an end is not drawn, so several skeletons may be in one list.
  std::vector<Bone> skeleton = pose_skeleton();
  double min_confidence = 0.3;  ///< keypoints below it are not drawn; those without one are
  bool names = false;           ///< writes the name beside each keypoint
  AnnotatorStyle style{};

  bool operator==(const KeypointSettings&) const = default;
};

/// Draws the keypoints of each node as dots, and the bones between them as lines. Those on the left
/// and on the right, by their names, are orange and blue; others have the node's colour. Small
/// skeletons have thin lines. A keypoint
/// whose point is not finite is left out. Thread safety: thread-compatible.
class VCAP_EXPORT KeypointAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit KeypointAnnotator(KeypointSettings settings = {});
  ~KeypointAnnotator() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const KeypointSettings settings_;
};

}  // namespace vcap
