// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/image/annotator.hpp"

namespace vcap {

/// How a LabelMapAnnotator draws. Thread safety: value.
struct LabelMapSettings {
  std::string picture{};  ///< the name of the frame's picture; must be given
  double opacity = 0.4;   ///< in 0…1; 1 hides what is under it
  int background = 0;     ///< this label is not drawn; -1: all labels are
  /// A BGR colour for each label. If a label is beyond its end, the palette is repeated. Empty: the
  /// stable_color() of the label's number.
  std::vector<cv::Vec3b> palette{};

  bool operator==(const LabelMapSettings&) const = default;
};

/// Draws a picture of labels that a capsule gave (CapsuleInfo::gives_pictures), such as the labels
/// of a Segmentation or a mask: CV_8UC1 or CV_16UC1, a label for each pixel. A picture of another
/// size is fitted over the whole image; a pixel takes the nearest label.
///
/// If the frame lacks the picture, nothing is drawn. Drawing throws InvalidArgument for a picture
/// of another type. Thread safety: thread-compatible.
class VCAP_EXPORT LabelMapAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit LabelMapAnnotator(LabelMapSettings settings);
  ~LabelMapAnnotator() override;

  std::vector<std::string> pictures() const override { return {settings_.picture}; }

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const LabelMapSettings settings_;
};

}  // namespace vcap
