// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "vcap/image/annotator.hpp"

namespace vcap {

/// How a TrailAnnotator draws. Thread safety: value.
struct TrailSettings {
  std::chrono::nanoseconds length = std::chrono::seconds(3);  ///< of a trail in time, > 0
  NodeAnchor anchor = NodeAnchor::bottom;                     ///< the point that leaves the trail
  std::size_t max_tracks = 1000;  ///< the maximum number; of more, those seen last are kept, > 0
  std::size_t max_points = 250;   ///< of a track; of more, the latest are kept, at least 2
  AnnotatorStyle style{};

  bool operator==(const TrailSettings&) const = default;
};

/// Draws the way of each track over the last seconds, thinner towards its end. A track that is not
/// in the frame keeps its trail until the trail's points are older than `length`; then it is
/// forgotten. Nodes without a track have no trail.
///
/// It forgets all tracks at a discontinuity and if time goes back. One for each stream. Thread
/// safety: thread-compatible.
class VCAP_EXPORT TrailAnnotator final : public Annotator {
 public:
  /// Throws InvalidArgument that names the setting.
  explicit TrailAnnotator(TrailSettings settings = {});
  ~TrailAnnotator() override;

  /// The number of tracks that it remembers.
  std::size_t tracks() const noexcept;
  void reset() override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  class Trails;
  const TrailSettings settings_;
  const std::unique_ptr<Trails> trails_;
};

}  // namespace vcap
