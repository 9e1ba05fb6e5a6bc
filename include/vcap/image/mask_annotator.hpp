// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/image/annotator.hpp"

namespace vcap {

/// How a MaskAnnotator draws. Thread safety: value.
struct MaskSettings {
  double opacity = 0.4;  ///< in 0…1; 1 hides what is under it
  AnnotatorStyle style{};

  bool operator==(const MaskSettings&) const = default;
};

/// Fills the outline (`coords`) of each node with its colour, such as the outline of an instance's
/// mask. If nodes overlap, the later one is on top. LabelMapAnnotator draws masks that are
/// pictures. Thread safety: thread-compatible.
class VCAP_EXPORT MaskAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit MaskAnnotator(MaskSettings settings = {});
  ~MaskAnnotator() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const MaskSettings settings_;
};

}  // namespace vcap
