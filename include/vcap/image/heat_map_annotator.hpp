// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "vcap/image/annotator.hpp"

namespace vcap {

/// How a HeatMapAnnotator draws. Thread safety: value.
struct HeatMapSettings {
  /// A visit counts half after this time; 0: it always counts in full.
  std::chrono::nanoseconds half_life = std::chrono::seconds(30);
  double radius =
      0.04;  ///< of a node's spot, as a share of the image's longer side; > 0, up to 0.5
  double opacity = 0.6;                    ///< of the hottest place, in 0…1
  NodeAnchor anchor = NodeAnchor::bottom;  ///< the point of a node that makes heat
  AnnotatorStyle style{};                  ///< without its colours and its scale

  bool operator==(const HeatMapSettings&) const = default;
};

/// Shows where nodes have been, from blue (seldom) to red (most often); places without nodes stay
/// as they are. Each node adds a Gaussian spot at its anchor, once for each frame; colours follow
/// the square root of the heat.
///
/// The heat is kept in a grid of at most 320 cells along the longer side. It is forgotten at the
/// discontinuities start, seek and loop, if time goes back, and if the image has another size. One
/// for each stream. The colours are those of cv::COLORMAP_TURBO. Thread safety: thread-compatible.
class VCAP_EXPORT HeatMapAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit HeatMapAnnotator(HeatMapSettings settings = {});
  ~HeatMapAnnotator() override;

  void reset() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const HeatMapSettings settings_;
  cv::Size size_{};  ///< of the images so far
  cv::Mat heat_{};   ///< CV_32F, in cells; empty: nothing yet
  cv::Mat spot_{};   ///< CV_32F: what one node adds
  std::optional<std::chrono::nanoseconds> last_{};
};

}  // namespace vcap
