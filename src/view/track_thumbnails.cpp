// SPDX-License-Identifier: Apache-2.0
#include "view/track_thumbnails.hpp"

#include <algorithm>
#include <vector>

#include "view/clip_pictures.hpp"

namespace vcap {

void TrackThumbnails::begin(const cv::Mat& image) {
  image_ = image;
  left_ = kMostAFrame;
}

void TrackThumbnails::see(const Uuid& track, const BoundingBox& box, const cv::Size& resolution,
                          std::chrono::nanoseconds dwell) {
  constexpr double kGrowth = 1.5;
  const auto known = thumbnails_.find(track);
  if (known != thumbnails_.end()) {
    known->second.dwell = dwell;
    if (box.area() < kGrowth * known->second.area) return;
  }
  if (left_ == 0 || image_.empty() || !(box.width() > 0) || !(box.height() > 0)) return;
  --left_;
  std::string picture =
      picture_uri(image_, {.box = box, .resolution = resolution, .longest_side = kLongestSide});
  if (picture.empty()) return;
  if (known == thumbnails_.end() && thumbnails_.size() == kMost) drop_shortest();
  thumbnails_[track] = {.picture = std::move(picture), .area = box.area(), .dwell = dwell};
}

/// Three of four, since the report shows the longest tracks.
void TrackThumbnails::drop_shortest() {
  std::vector<std::chrono::nanoseconds> dwells;
  for (const auto& [track, thumbnail] : thumbnails_) dwells.push_back(thumbnail.dwell);
  const auto limit = dwells.begin() + static_cast<std::ptrdiff_t>(dwells.size() * 3 / 4);
  std::ranges::nth_element(dwells, limit);
  std::size_t left = dwells.size() * 3 / 4;  // if all are as long
  std::erase_if(thumbnails_, [&, shortest = *limit](const auto& entry) {
    if (left == 0 || entry.second.dwell > shortest) return false;
    --left;
    return true;
  });
}

std::string TrackThumbnails::of(const Uuid& track) const {
  const auto known = thumbnails_.find(track);
  return known == thumbnails_.end() ? std::string() : known->second.picture;
}

}  // namespace vcap
