// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/image/annotator.hpp"

namespace vcap {

/// How a PixelateAnnotator draws. Thread safety: value.
struct PixelateSettings {
  int cells = 6;        ///< squares along the longer side of a region, 1…64
  double margin = 0.1;  ///< how far it reaches beyond a box on each side, as a share of it, 0…10
  AnnotatorStyle style{};  ///< without its colours and its scale

  bool operator==(const PixelateSettings&) const = default;
};

/// Replaces the box of each node by squares of one colour each, the mean of the pixels there. Give
/// it before parts that draw lines or text. What BlurAnnotator says of privacy holds here, too.
/// Thread safety: thread-compatible.
class VCAP_EXPORT PixelateAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit PixelateAnnotator(PixelateSettings settings = {});
  ~PixelateAnnotator() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const PixelateSettings settings_;
};

}  // namespace vcap
