// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/image/annotator.hpp"

namespace vcap {

/// How a BlurAnnotator draws. Thread safety: value.
struct BlurSettings {
  /// The size of the blur, as a share of the region's longer side; > 0, up to 1.
  double strength = 0.2;
  double margin = 0.1;  ///< how far it reaches beyond a box on each side, as a share of it, 0…10
  AnnotatorStyle style{};  ///< without its colours and its scale

  bool operator==(const BlurSettings&) const = default;
};

/// Blurs the box of each node. Give it before parts that draw lines or text.
///
/// It is for looks. Something blurred can in part be restored; PixelateAnnotator hides more. Both
/// hide only what was found on this very frame, and nothing on frames on which a detector missed a
/// face or a capsule failed. For people's privacy, use a capsule that gives a picture, such as
/// privacy_blur, and make_picture_video_sink.
///
/// A box filter is applied three times, which is close to a Gaussian (W. M. Wells, "Efficient
/// synthesis of Gaussian filters by cascaded uniform filters", IEEE TPAMI 8 (2), 1986). Thread
/// safety: thread-compatible.
class VCAP_EXPORT BlurAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit BlurAnnotator(BlurSettings settings = {});
  ~BlurAnnotator() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const BlurSettings settings_;
};

}  // namespace vcap
