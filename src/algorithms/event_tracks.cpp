// SPDX-License-Identifier: Apache-2.0
#include "algorithms/event_tracks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vcap {
namespace {

double longer_side(const BoundingBox& box) noexcept { return std::max(box.width(), box.height()); }

/// Whether one is at most twice as large as the other, in each direction.
bool is_like(const BoundingBox& a, const BoundingBox& b) noexcept {
  const auto fits = [](double one, double other) { return one <= 2 * other && other <= 2 * one; };
  return fits(a.width(), b.width()) && fits(a.height(), b.height());
}

}  // namespace

void EventTracks::find(std::vector<FoundNode>& nodes, std::int64_t update, double handover) {
  std::vector<FoundNode*> unknown;
  for (FoundNode& found : nodes) {
    const auto known = by_id_.find(*found.node->track_id);
    if (known == by_id_.end()) {
      unknown.push_back(&found);
    } else if (EventTrack& track = *known->second; track.found_in != update) {
      track.found_in = update;
      found.track = &track;
      tracks_.splice(tracks_.end(), tracks_, known->second);
    }
  }
  if (!unknown.empty() && handover > 0) hand_over(unknown, update, handover);
  for (FoundNode* const found : unknown)
    if (found->track == nullptr) add(*found, update);
  std::erase_if(nodes, [](const FoundNode& found) { return found.track == nullptr; });
}

/// Each unknown node takes the nearest missed track, in the order of the nodes.
void EventTracks::hand_over(std::vector<FoundNode*>& unknown, std::int64_t update,
                            double handover) {
  std::vector<List::iterator> missed;
  double farthest = 0;
  for (auto track = tracks_.begin(); track != tracks_.end() && track->found_in != update; ++track) {
    missed.push_back(track);
    farthest = std::max(farthest, handover * longer_side(track->box));
  }
  if (missed.empty()) return;
  const auto x_of = [](const List::iterator& track) { return track->box.centre().x; };
  std::ranges::sort(missed, {}, x_of);
  for (FoundNode* const found : unknown) {
    if (by_id_.contains(*found->node->track_id)) continue;  // a second node of one new track
    const cv::Point2d centre = found->box.centre();
    auto nearest = missed.end();
    double least = 0;
    for (auto it = std::ranges::lower_bound(missed, centre.x - farthest, {}, x_of);
         it != missed.end() && x_of(*it) <= centre.x + farthest; ++it) {
      EventTrack& track = **it;
      if (track.found_in == update || track.name != found->node->name ||
          !is_like(track.box, found->box))
        continue;
      const cv::Point2d way = track.box.centre() - centre;
      const double distance = std::hypot(way.x, way.y);
      if (distance > handover * longer_side(track.box)) continue;
      if (nearest != missed.end() && distance >= least) continue;
      nearest = it;
      least = distance;
    }
    if (nearest == missed.end()) continue;
    EventTrack& track = **nearest;
    by_id_.erase(track.id);
    track.id = *found->node->track_id;
    track.found_in = update;
    by_id_.emplace(track.id, *nearest);
    tracks_.splice(tracks_.end(), tracks_, *nearest);
    found->track = &track;
  }
}

void EventTracks::add(FoundNode& found, std::int64_t update) {
  const Uuid id = *found.node->track_id;
  if (by_id_.contains(id)) return;  // a second node of one new track
  EventTrack& track = tracks_.emplace_back();
  track.id = id;
  track.found_in = update;
  by_id_.emplace(id, std::prev(tracks_.end()));
  found.track = &track;
}

void EventTracks::forget_first() {
  by_id_.erase(tracks_.front().id);
  tracks_.pop_front();
}

void EventTracks::clear() noexcept {
  by_id_.clear();
  tracks_.clear();
}

}  // namespace vcap
