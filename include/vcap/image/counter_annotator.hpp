// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/image/annotator.hpp"

namespace vcap {

/// What a CounterAnnotator writes. Thread safety: value.
struct CounterSettings {
  /// The corner of the image in which the counters stand.
  enum class Corner { top_left, top_right, bottom_left, bottom_right };

  Corner corner = Corner::top_left;
  bool names = true;  ///< how many nodes of each name the frame has
  /// Whole numbers that nodes have in `extra_data`, one line for each node with such keys, such as
  /// "door: in 3, out 5" for the example capsule line_counter. The line begins with the text of the
  /// key named as the node, else with the node's name.
  std::vector<std::string> keys{"in", "out"};
  AnnotatorStyle style{};  ///< without its colours

  bool operator==(const CounterSettings&) const = default;
};

/// Writes counters on a dark patch in a corner of the image. Nodes need no coords to be counted. A
/// node with counters of its own (`keys`) is not counted by its name. Lines that have no room are
/// left out. Thread safety: thread-compatible.
class VCAP_EXPORT CounterAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit CounterAnnotator(CounterSettings settings = {});
  ~CounterAnnotator() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  const CounterSettings settings_;
};

}  // namespace vcap
