// SPDX-License-Identifier: Apache-2.0
#include "streams/route_changes.hpp"

#include <algorithm>
#include <iterator>

#include "streams/frame_job.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Sets the option of that capsule in a route. No effect if the route does not go through the
/// capsule, or through a version that does not accept the value.
void apply(Route& route, const std::string& capsule, const std::string& option,
           const OptionValue& value) {
  const CompiledPlan& plan = *route.compiled_plan;
  for (std::size_t step = 0; step < plan.size(); ++step) {
    if (plan[step].slot->name() != capsule) continue;
    try {
      route.options[step].set(option, value);
    } catch (const OptionError&) {  // the new version of the capsule accepts it
    }
    return;
  }
}

}  // namespace

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
  // An option may hold from an earlier frame than a replacement that came before.
  const auto place =
      std::ranges::upper_bound(unlisted_, index, {}, &std::pair<std::int64_t, Change>::first);
  unlisted_.emplace(place, index, std::move(change));
}

std::int64_t RouteChanges::change_option(Route& next, Change change, std::int64_t unread) {
  const std::int64_t from = last_begun_ + 1;
  next.option_changes = ++changes_made_;
  if (from < unread)
    option_changes_.push_back({.from = from,
                               .unread = unread,
                               .number = changes_made_,
                               .capsule = change.capsule,
                               .option = change.option,
                               .value = change.value});
  add(from, std::move(change));
  return from;
}

void RouteChanges::repeat_change(Route& next, std::int64_t index, Change change) {
  next.option_changes = ++changes_made_;
  add(index, std::move(change));
}

std::shared_ptr<const Route> RouteChanges::route_of(const FrameJob& job) {
  if (job.has_options || option_changes_.empty()) return job.route;
  const auto later =
      std::ranges::upper_bound(option_changes_, job.record.frame.index, {}, &OptionChange::from);
  if (later == option_changes_.begin()) return job.route;
  const std::uint64_t number = std::prev(later)->number;
  if (number <= job.route->option_changes) return job.route;
  std::erase_if(changed_, [](const Changed& one) { return one.to.expired(); });
  for (const Changed& one : changed_)
    if (auto to = one.to.lock(); to && to->option_changes == number && one.from.lock() == job.route)
      return to;
  std::shared_ptr<const Route> to = with_changes(*job.route, number);
  changed_.push_back({.from = job.route, .to = to});
  return to;
}

std::shared_ptr<const Route> RouteChanges::with_changes(const Route& route,
                                                        std::uint64_t number) const {
  auto changed = std::make_shared<Route>(route);
  for (const OptionChange& one : option_changes_)
    if (one.number > route.option_changes && one.number <= number)
      apply(*changed, one.capsule, one.option, one.value);
  changed->option_changes = number;
  return changed;
}

void RouteChanges::begin(FrameJob& job) {
  if (job.has_options) return;
  job.route = route_of(job);
  job.has_options = true;
  last_begun_ = std::max(last_begun_, job.record.frame.index);
}

void RouteChanges::forget_changes(std::int64_t index) noexcept {
  std::erase_if(option_changes_,
                [index](const OptionChange& one) { return one.unread <= index + 1; });
}

void RouteChanges::list(FrameRecord& record) {
  const auto later = std::ranges::find_if(
      unlisted_, [&](const auto& change) { return change.first > record.frame.index; });
  for (auto next = unlisted_.begin(); next != later; ++next) {
    Change& change = next->second;
    if (!change.option.empty())
      record.option_changes.push_back(
          {std::move(change.capsule), std::move(change.option), std::move(change.value)});
    else if (change.config)
      record.config_changes.push_back(
          {std::move(change.capsule), *change.config, change.keep_state});
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
