// SPDX-License-Identifier: Apache-2.0
#include "view/track_table.hpp"

#include <algorithm>

namespace vcap {
namespace {

/// For a heap with the shortest track first; ties by id, so that reports do not depend on hashes.
bool is_longer(const SeenTrack& one, const SeenTrack& other) {
  return one.dwell() != other.dwell() ? one.dwell() > other.dwell() : one.id < other.id;
}

void count(std::map<std::size_t, Histogram>& dwell_times, const SeenTrack& track) {
  const auto dwell = std::chrono::duration_cast<std::chrono::milliseconds>(track.dwell());
  dwell_times[track.name].add(static_cast<std::uint64_t>(std::max<std::int64_t>(dwell.count(), 0)));
}

double area(const BoundingBox& box) { return box.width() * box.height(); }

}  // namespace

std::chrono::nanoseconds TrackTable::see(const Uuid& id, std::size_t name, const BoundingBox& box,
                                         std::chrono::nanoseconds pts, std::int64_t frame) {
  const auto [place, is_new] = followed_.try_emplace(id);
  SeenTrack& track = place->second;
  if (is_new)
    track = {.id = id, .name = name, .begin = pts, .begin_frame = frame, .largest_at = pts};
  track.end = std::max(track.end, pts);
  ++track.frames;
  if (is_new || area(box) > area(track.largest)) {
    track.largest = box;
    track.largest_at = pts;
  }
  const std::chrono::nanoseconds dwell = track.dwell();
  if (followed_.size() > kMostFollowed) drop_half();
  return dwell;
}

void TrackTable::keep(std::vector<SeenTrack>& kept, const SeenTrack& track) const {
  kept.push_back(track);
  std::ranges::push_heap(kept, is_longer);
  if (kept.size() <= most_kept_) return;
  std::ranges::pop_heap(kept, is_longer);
  kept.pop_back();
}

void TrackTable::drop_half() {
  std::vector<std::chrono::nanoseconds> ends;
  ends.reserve(followed_.size());
  for (const auto& [id, track] : followed_) ends.push_back(track.end);
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::ranges::nth_element(ends, middle);
  const auto limit = *middle;
  const std::size_t before = followed_.size();
  std::size_t left = before / 2;  // if all were seen last at the same time, half of them
  std::erase_if(followed_, [&](const auto& entry) {
    if (left == 0 || entry.second.end > limit) return false;
    --left;
    keep(kept_, entry.second);
    count(dwell_times_, entry.second);
    return true;
  });
  over_ += before - followed_.size();
  dropped_ = true;
}

std::vector<SeenTrack> TrackTable::longest() const {
  std::vector<SeenTrack> kept = kept_;
  for (const auto& [id, track] : followed_) keep(kept, track);
  std::ranges::sort(kept, [](const SeenTrack& one, const SeenTrack& other) {
    return one.begin != other.begin ? one.begin < other.begin : one.id < other.id;
  });
  return kept;
}

std::map<std::size_t, Histogram> TrackTable::dwell_times() const {
  std::map<std::size_t, Histogram> dwell_times = dwell_times_;
  for (const auto& [id, track] : followed_) count(dwell_times, track);
  return dwell_times;
}

}  // namespace vcap
