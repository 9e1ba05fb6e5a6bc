// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vcap/image/annotator.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// A part of the picture that is drawn on each frame. Thread safety: value.
struct DrawnZone {
  std::string name{};  ///< may be empty
  Coords outline{};    ///< in pixels of the frame, at least three points
  /// BGR; absent: stable_color() of the name.
  std::optional<cv::Scalar> color{};

  bool operator==(const DrawnZone&) const = default;
};

/// A line that is drawn on each frame. Thread safety: value.
struct DrawnLine {
  std::string name{};        ///< may be empty
  cv::Point2d from{}, to{};  ///< in pixels of the frame; two different points
  /// An arrow in its middle, to the right side as seen from `from` to `to`.
  bool arrow = true;
  /// BGR; absent: stable_color() of the name.
  std::optional<cv::Scalar> color{};

  bool operator==(const DrawnLine&) const = default;
};

/// How a ZoneAnnotator draws. Thread safety: value.
struct ZoneSettings {
  std::vector<DrawnZone> zones{};
  std::vector<DrawnLine> lines{};
  /// Whether coordinates are shares of the frame's width and height, 0 to 1, in place of pixels.
  bool relative = false;
  bool counts = true;                      ///< how many nodes are within a zone, beside its name
  NodeAnchor anchor = NodeAnchor::bottom;  ///< the point of a node that must lie within
  double opacity = 0.15;                   ///< of the filling, in 0…1
  AnnotatorStyle style{};                  ///< `names` and `children` say which nodes count

  bool operator==(const ZoneSettings&) const = default;
};

/// Draws fixed zones and lines. Of a zone: outline, a light filling, and the name at the top with
/// the number of nodes within; a node on the outline is within. Of a line: the line, its arrow, and
/// the name where it begins. drawn_zones() gives those of event rules. Thread safety:
/// thread-compatible.
class VCAP_EXPORT ZoneAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting: a zone of fewer than three points, a line whose
  /// ends are one point, a coordinate that is not finite, or an opacity out of range.
  explicit ZoneAnnotator(ZoneSettings settings);
  ~ZoneAnnotator() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const ZoneSettings settings_;
};

}  // namespace vcap
