// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "vcap/records/frame_record.hpp"
#include "view/node_pairs.hpp"

namespace vcap {

/// A value of an attribute that differs between the two nodes of a pair. Thread safety: value.
struct AttributeDifference {
  std::size_t pair = 0;  ///< index in FrameDifference::pairs
  std::string category{};
  std::string a{}, b{};  ///< empty: the node has no such attribute
};

/// An error or warning of a frame that one of the runs lacks. Thread safety: value.
struct MessageDifference {
  bool in_a = false;  ///< else in B
  bool is_warning = false;
  FrameRecord::CapsuleError message{};
};

/// How two records of one frame differ. Borrows the records. Thread safety: value.
struct FrameDifference {
  enum class Kind { same, moved, renamed, appeared, vanished };

  bool is_equal = false;  ///< in every field; then `pairs` is empty
  std::vector<NodePair> pairs{};
  std::vector<Kind> kinds{};    ///< of `pairs`
  std::vector<double> moves{};  ///< of `pairs`: the largest of an edge, in pixels
  std::vector<AttributeDifference> attributes{};
  std::vector<MessageDifference> messages{};
  bool drops_differ = false;
  /// Other fields that differ, each once. "track_id" is not among them; that takes earlier frames.
  std::vector<const char*> fields{};

  /// How much differs: 1 for each object that one run lacks or names otherwise, 1 - IoU for each
  /// that moved, 1 for a message, 0.5 for an attribute or drops. 0 if nothing differs but `fields`.
  double score() const noexcept;
};

/// `tolerance`: of the edges of boxes that count as equal, in pixels. Thread-safe.
FrameDifference compare_frames(const FrameRecord& a, const FrameRecord& b, double tolerance,
                               double min_iou);

}  // namespace vcap
