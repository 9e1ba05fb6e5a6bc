// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "vcap/image/annotator.hpp"

namespace vcap {

/// What a LabelAnnotator writes. Thread safety: value.
struct LabelSettings {
  bool names = true;       ///< in the label's first line, with the two below
  bool confidence = true;  ///< with two digits, if the node has one
  bool track_ids = true;   ///< the first 8 of its hexadecimal digits
  bool attributes = true;  ///< a line `category: value` each, below the first
  /// How long the label of a track stays at a place of the box after it moved there, if the place
  /// is free. So labels do not jump back and forth between two places.
  std::chrono::nanoseconds settled = std::chrono::seconds(1);
  AnnotatorStyle style{};

  bool operator==(const LabelSettings&) const = default;
};

/// Writes a label at each node, on a patch of the node's colour. Labels never cover each other.
///
/// A label stands above its box if there is room. Else it is inside, below or beside the box, or a
/// little away, with a line to it. It also prefers places where it covers few other boxes. If no
/// place is free, it is shortened: first to its first line, then to some 8 characters. If there is
/// no room for that either, it is left out, and left_out() counts it. Labels are shortened to stay
/// within the image. Characters beyond printable ASCII appear as '?'; nothing in a text is markup.
///
/// Labels are placed one after the other, and none is moved afterwards: those of tracks first, in
/// the order of their ids, then the others from the bottom of the image to its top. So the order of
/// the nodes has no influence, and a track's label keeps its priority over the frames. Placing n
/// labels takes O(n) tries, each with the help of a grid.
///
/// Source: greedy choice among ranked positions of each label, as in J. Christensen, J. Marks, S.
/// Shieber, "An empirical study of algorithms for point-feature label placement", ACM TOG 14 (3),
/// 1995; the positions at a box, the ranks and the steps of shortening are vcap's own. The cover by
/// boxes comes from a summed-area table (F. C. Crow, SIGGRAPH 1984).
/// Thread safety: thread-compatible.
class VCAP_EXPORT LabelAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit LabelAnnotator(LabelSettings settings = {});
  ~LabelAnnotator() override;

  /// How many labels of the last image had no room.
  std::size_t left_out() const noexcept;
  void reset() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  class Memory;
  const LabelSettings settings_;
  std::size_t left_out_ = 0;
  const std::unique_ptr<Memory> memory_;
};

}  // namespace vcap
