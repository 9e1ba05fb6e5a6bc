// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/image/annotator.hpp"

namespace vcap {

/// How a BoxAnnotator draws. Thread safety: value.
struct BoxSettings {
  /// The whole outline, the outline with rounded corners, or only the corners.
  enum class Shape { rectangle, rounded, corners };

  Shape shape = Shape::rectangle;
  AnnotatorStyle style{};

  bool operator==(const BoxSettings&) const = default;
};

/// Draws the box around each node; at least one pixel, also if the box has no area. Thread safety:
/// thread-compatible.
class VCAP_EXPORT BoxAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit BoxAnnotator(BoxSettings settings = {});
  ~BoxAnnotator() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const BoxSettings settings_;
};

}  // namespace vcap
