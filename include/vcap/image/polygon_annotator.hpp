// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/image/annotator.hpp"

namespace vcap {

/// How a PolygonAnnotator draws. Thread safety: value.
struct PolygonSettings {
  bool upright_boxes = true;  ///< also outlines that are upright boxes, which a BoxAnnotator draws
  AnnotatorStyle style{};

  bool operator==(const PolygonSettings&) const = default;
};

/// Draws the outline (`coords`) of each node. Thread safety: thread-compatible.
class VCAP_EXPORT PolygonAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit PolygonAnnotator(PolygonSettings settings = {});
  ~PolygonAnnotator() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const PolygonSettings settings_;
};

}  // namespace vcap
