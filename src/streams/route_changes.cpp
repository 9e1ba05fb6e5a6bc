// SPDX-License-Identifier: Apache-2.0
#include "streams/route_changes.hpp"

#include <algorithm>

namespace vcap {

std::shared_ptr<const Route> RouteChanges::set(std::shared_ptr<const Route> route) {
  if (route_) {
    std::erase_if(retired_, [](const auto& lane) { return lane.expired(); });
    for (const Route::Stop& old : route_->stops)
      if (std::ranges::find(route->stops, old.lane, &Route::Stop::lane) == route->stops.end())
        retired_.push_back(old.lane);
  }
  return std::exchange(route_, std::move(route));
}

void RouteChanges::add(std::int64_t index, Change change) {
  unlisted_.emplace_back(index, std::move(change));
}

void RouteChanges::list(FrameRecord& record) {
  const auto later = std::ranges::find_if(
      unlisted_, [&](const auto& change) { return change.first > record.frame.index; });
  for (auto next = unlisted_.begin(); next != later; ++next) {
    Change& change = next->second;
    if (!change.option.empty())
      record.option_changes.push_back(
          {std::move(change.capsule), std::move(change.option), std::move(change.value)});
    else
      record.replacements.push_back(
          {std::move(change.capsule), change.from_version, change.to_version});
  }
  unlisted_.erase(unlisted_.begin(), later);
}

std::vector<std::shared_ptr<CapsuleLane>> RouteChanges::lanes() const {
  std::vector<std::shared_ptr<CapsuleLane>> lanes;
  for (const Route::Stop& stop : route_->stops) lanes.push_back(stop.lane);
  for (const std::weak_ptr<CapsuleLane>& retired : retired_)
    if (auto lane = retired.lock()) lanes.push_back(std::move(lane));
  return lanes;
}

}  // namespace vcap
