// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

#include <opencv2/core/mat.hpp>

#include "vcap/model/bounding_box.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {

/// Thumbnails of tracks, taken from frames while a run goes, in bounded memory and time. Thread
/// safety: thread-compatible.
class TrackThumbnails {
 public:
  static constexpr int kLongestSide = 64;        ///< pixels
  static constexpr std::size_t kMost = 400;      ///< at a time, some 3 KB each
  static constexpr std::size_t kMostAFrame = 2;  ///< that are taken, 0.2 ms each

  /// A frame begins. `image`: BGR.
  void begin(const cv::Mat& image);
  /// The track is in this frame. Takes a picture if there is none yet, or if the box has grown by
  /// half. `dwell`: of the track so far. Throws as clip_pictures() if pictures cannot be encoded.
  void see(const Uuid& track, const BoundingBox& box, const cv::Size& resolution,
           std::chrono::nanoseconds dwell);
  /// A data URI; empty if there is no picture of the track.
  std::string of(const Uuid& track) const;

 private:
  struct Thumbnail {
    std::string picture{};
    double area = 0;
    std::chrono::nanoseconds dwell{0};
  };

  void drop_shortest();

  std::unordered_map<Uuid, Thumbnail> thumbnails_;
  cv::Mat image_;
  std::size_t left_ = 0;  ///< of kMostAFrame
};

}  // namespace vcap
