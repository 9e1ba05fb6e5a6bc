// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <opencv2/core/types.hpp>

namespace vcap {

/// A label that needs a place. Thread safety: value.
struct LabelRequest {
  cv::Rect box{};                 ///< of its node, at least partly within the image
  std::vector<cv::Size> sizes{};  ///< of its texts, the preferred one first; each fits the image
  std::optional<int> place{};     ///< where it should stay: PlacedLabel::place of before
};

/// Where a label goes. Thread safety: value.
struct PlacedLabel {
  cv::Rect patch{};                   ///< within the image
  std::size_t text = 0;               ///< which of the request's sizes it has
  int place = 0;                      ///< the place relative to the box, 0: above it
  std::optional<cv::Point> leader{};  ///< if it is away from the box: the box's point nearest to it

  bool operator==(const PlacedLabel&) const = default;
};

/// Where the line of a label that is away from its box ends: the patch's point nearest to the box.
cv::Point end_of_line(const PlacedLabel& label);

/// Gives each label a place, in the order of the requests; nullopt if there is no room for any of
/// its texts. No two patches have a pixel in common, nor do they touch. A line may
/// pass below the patches that were placed before it, but not of those after it. LabelAnnotator
/// says which places are preferred. Deterministic. Thread-safe.
std::vector<std::optional<PlacedLabel>> place_labels(std::span<const LabelRequest> requests,
                                                     cv::Size image);

}  // namespace vcap
