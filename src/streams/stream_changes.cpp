// SPDX-License-Identifier: Apache-2.0
// How a stream gets its first route, and how the route changes.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "capsule/config_schema.hpp"
#include "streams/stream.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::size_t step_of(const CompiledPlan& compiled_plan, const std::string& capsule) {
  const auto found = std::ranges::find_if(
      compiled_plan, [&](const CompiledStep& step) { return step.slot->name() == capsule; });
  return static_cast<std::size_t>(found - compiled_plan.begin());
}

/// Whether both have the same capsules in the same order, whatever their versions.
bool have_one_order(const CompiledPlan& left, const CompiledPlan& right) {
  return std::ranges::equal(left, right, [](const CompiledStep& a, const CompiledStep& b) {
    return a.slot->name() == b.slot->name();
  });
}

/// The new capsule's options, with the values that were set for the old one.
OptionValues carried_over(const OptionValues& old, OptionValues fresh, const std::string& stream) {
  const OptionValues defaults(old.declared());
  for (const auto& [name, option] : old.declared()) {
    if (old.get(name) == defaults.get(name)) continue;
    try {
      fresh.set(name, old.get(name));
    } catch (const OptionError& error) {
      throw OptionError(error.code(), "stream " + stream +
                                          " has set this option, but the new version does " +
                                          "not accept the value: " + error.what());
    }
  }
  return fresh;
}

}  // namespace

CapsuleSettings capsule_settings(const CapsuleInfo& info, const OptionValues& options,
                                 const JsonValue& config, const std::string& stream) {
  return {.name = info.name,
          .version = info.version,
          .options = options,
          .config = detail::completed_stream_config(info, *config, stream),
          .config_schema = info.stream_config_schema,
          .takes_config = info.stream_state || info.stream_parameters};
}

void Stream::init_route(std::shared_ptr<const CompiledPlan> compiled_plan, StepOptions options) {
  std::shared_ptr<const Route> route = make_route(std::move(compiled_plan), std::move(options), 0);
  const MutexLock lock(mutex_);
  set_route(route);
}

/// Swaps: afterwards `route` is the old route, to be released without the lock.
void Stream::set_route(std::shared_ptr<const Route>& route) {
  windows_.extend(*route->compiled_plan);
  intake_.set_look_ahead(windows_.look_ahead());
  route = changes_.set(std::move(route));
}

std::shared_ptr<const Route> Stream::make_route(std::shared_ptr<const CompiledPlan> compiled_plan,
                                                StepOptions options, std::size_t run) {
  auto route = std::make_shared<Route>();
  for (const CompiledStep& step : *compiled_plan) {
    Route::Stop& stop = route->stops.emplace_back(make_stop(step, nullptr));
    if (rules_.slice) stop.called = &rules_.slice->runs[run].called[route->stops.size() - 1];
  }
  // States are opened only once all stops are known to be valid.
  for (std::size_t i = 0; i < compiled_plan->size(); ++i)
    if (const CapsuleSlot& slot = *(*compiled_plan)[i].slot; slot.stateful)
      route->stops[i].state_number = route->stops[i].lane->states.open(slot.capsule, false);
  route->compiled_plan = std::move(compiled_plan);
  route->options = std::move(options);
  route->run = run;
  return route;
}

/// The route for a frame that begins a run of a slice, in which the states are new; null for other
/// frames. Source thread.
std::shared_ptr<const Route> Stream::route_of_run(const Frame& frame) {
  if (!rules_.slice) return nullptr;
  std::shared_ptr<const Route> now;
  {
    const MutexLock lock(mutex_);
    now = changes_.route();
  }
  const std::vector<SliceRun>& runs = rules_.slice->runs;
  std::size_t run = now->run;
  while (run + 1 < runs.size() && frame.index >= runs[run + 1].fed.hull().begin) ++run;
  if (run == now->run) return nullptr;
  return make_route(now->compiled_plan, now->options, run);
}

/// The route from a frame on that runs once more, with the changes that were recorded there; null
/// if there are none. Throws OptionError. Source thread.
std::shared_ptr<const Route> Stream::repeat_changes(const RecordedFrame& recorded,
                                                    std::int64_t index) {
  if (recorded.option_changes.empty() && recorded.replacements.empty()) return nullptr;
  auto changed = std::make_shared<Route>(*changes_.route());
  for (const auto& [capsule, option, value] : recorded.option_changes) {
    const std::size_t step = step_of(*changed->compiled_plan, capsule);
    if (step < changed->compiled_plan->size()) changed->options[step].set(option, value);
    changes_.repeat_change(*changed, index, {.capsule = capsule, .option = option, .value = value});
  }
  for (const auto& [capsule, from, to] : recorded.replacements)
    changes_.add(index, {.capsule = capsule, .from_version = from, .to_version = to});
  return changed;
}

/// `config`: null for the one that the stream began with, with the saved state.
StreamInfo Stream::info_for(const CapsuleSlot& slot, const JsonValue* config) const {
  StreamInfo info{.id = id_, .seed = rules_.seed};
  const auto own = rules_.config.find(slot.name());
  if (config)
    info.config = *config;
  else if (own != rules_.config.end())
    info.config = own->second;
  const auto saved = rules_.saved.find(slot.name());
  if (!config && saved != rules_.saved.end()) {
    info.saved = saved->second.state;
    info.saved_by = saved->second.version;
  }
  return info;
}

/// Changes configs as it was recorded for the frame, which is read next. Throws InvalidArgument
/// (invalid_config). Source thread.
void Stream::repeat_configs(const RecordedFrame& recorded, std::int64_t index) {
  for (const auto& [capsule, config, keep_state] : recorded.config_changes) {
    Replacement change;
    if (rules_.recorded->stands_in(capsule))
      change.change = {.capsule = capsule,
                       .config = std::make_shared<const JsonValue>(config),
                       .keep_state = keep_state};
    else
      change = prepare_config(capsule, config, keep_state);
    const MutexLock lock(mutex_);
    if (change.route) set_route(change.route);
    changes_.add(index, std::move(change.change));
  }
}

Route::Stop Stream::make_stop(const CompiledStep& step, std::shared_ptr<const JsonValue> config) {
  StreamInfo info = info_for(*step.slot, config.get());
  // Checks the config before any state is opened, also for a capsule without state.
  static_cast<void>(detail::completed_stream_config(step.slot->capsule->info(), info.config, id_));
  const CapsuleSlot& slot = *step.slot;
  // Found by its handle only, so that slices and groups of the stream have one each.
  StreamHandle parameters;
  if (slot.capsule->info().stream_parameters) parameters = slot.capsule->open_apart(info);
  return {.lane = std::make_shared<CapsuleLane>(std::move(info), rules_.slice != nullptr,
                                                slot.capsule->info().batch.value_or(BatchSizes{}),
                                                slot.backends),
          .health = std::make_shared<CapsuleHealth>(rules_.quarantine),
          .arrivals = std::make_shared<Arrivals>(),
          .parked = std::make_shared<ParkedCalls>(weak_from_this()),
          .parameters = std::move(parameters),
          .config = std::move(config),
          .gathers = gathers(step),
          .stands_in = rules_.recorded && rules_.recorded->stands_in(slot.name())};
}

/// Whether frames wait for each other at the step. Live frames do not wait.
bool Stream::gathers(const CompiledStep& step) const {
  const auto& batch = step.slot->capsule->info().batch;
  return batch && batch->maximum > 1 && !step.slot->stateful &&
         step.needs.size != NodeDescription::Size::single &&
         rules_.overflow == OverflowPolicy::wait;
}

std::int64_t Stream::set_option(const std::string& capsule, const std::string& option,
                                OptionValue value) {
  std::shared_ptr<const Route> route;  // in the end the old one, released after the lock
  const MutexLock lock(mutex_);
  const Route& now = *changes_.route();
  const std::size_t step = step_of(*now.compiled_plan, capsule);
  if (step == now.compiled_plan->size())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "option \"" + option + "\" of capsule " + capsule + ": stream " + id_ +
                              " does not go through that capsule (StreamConfig::capsules)");
  auto changed = std::make_shared<Route>(now);
  changed->options[step].set(option, value);
  const std::int64_t from = changes_.change_option(
      *changed, {.capsule = capsule, .option = option, .value = std::move(value)}, last_index_ + 1);
  route = std::move(changed);
  set_route(route);
  return from;
}

std::optional<Stream::Replacement> Stream::prepare(
    std::shared_ptr<const CompiledPlan> compiled_plan, const std::string& capsule,
    bool keep_state) {
  std::shared_ptr<const Route> old;
  {
    const MutexLock lock(mutex_);
    if (account_.has_ended()) return std::nullopt;
    old = changes_.route();
  }
  const std::size_t old_place = step_of(*old->compiled_plan, capsule);
  if (old_place == old->compiled_plan->size()) return std::nullopt;
  const CapsuleSlot& before = *(*old->compiled_plan)[old_place].slot;

  // A window waits for nodes of later frames. In another order, these frames may come to a stateful
  // capsule first, and wait there for the frame of that window. So such windows end here.
  const bool ends_windows = !have_one_order(*old->compiled_plan, *compiled_plan);
  Replacement replacement{.stream = shared_from_this()};
  auto route = std::make_shared<Route>();
  route->option_changes = old->option_changes;
  for (const CompiledStep& step : *compiled_plan) {
    const std::size_t place = step_of(*old->compiled_plan, step.slot->name());
    if (step.slot->name() != capsule) {
      Route::Stop& stop = route->stops.emplace_back(old->stops[place]);
      if (ends_windows) stop.arrivals = std::make_shared<Arrivals>();
      route->options.push_back(old->options[place]);
      continue;
    }
    // If only one of the two keeps a state, there is no state to continue from.
    Route::Stop stop = make_stop(step, old->stops[place].config);
    if (step.slot->stateful && before.stateful)
      stop.lane = old->stops[place].lane;
    else
      replacement.retired = old->stops[place].lane;
    route->options.push_back(
        carried_over(old->options[place], step.slot->capsule->default_options(), id_));
    if (step.slot->stateful) {
      stop.state_number = stop.lane->states.open(step.slot->capsule, keep_state, stop.config);
      replacement.is_open = true;
    }
    replacement.stop = stop;
    replacement.change = {.capsule = capsule,
                          .from_version = before.capsule->info().version,
                          .to_version = step.slot->capsule->info().version};
    route->stops.push_back(std::move(stop));
  }
  route->compiled_plan = std::move(compiled_plan);
  replacement.route = std::move(route);
  return replacement;
}

Stream::Replacement Stream::prepare_config(const std::string& capsule, JsonValue config,
                                           bool keep_state) {
  std::shared_ptr<const Route> old;
  bool has_ended = false;
  {
    const MutexLock lock(mutex_);
    has_ended = account_.has_ended();
    old = changes_.route();
  }
  const std::size_t place = step_of(*old->compiled_plan, capsule);
  if (place == old->compiled_plan->size())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "config of capsule " + capsule + ": stream " + id_ +
                              " does not go through that capsule (StreamConfig::capsules)");
  const CapsuleSlot& slot = *(*old->compiled_plan)[place].slot;
  StreamInfo info = info_for(slot, &config);
  static_cast<void>(detail::completed_stream_config(slot.capsule->info(), info.config, id_));
  Replacement replacement{.stream = shared_from_this()};
  auto route = std::make_shared<Route>(*old);
  Route::Stop& stop = route->stops[place];
  stop.config = std::make_shared<const JsonValue>(std::move(config));
  if (stop.parameters) stop.parameters = slot.capsule->open_apart(std::move(info));
  if (slot.stateful && !has_ended) {
    stop.state_number = stop.lane->states.open(slot.capsule, keep_state, stop.config);
    replacement.is_open = true;
  }
  replacement.stop = stop;
  replacement.change = {.capsule = capsule, .config = stop.config, .keep_state = keep_state};
  replacement.route = std::move(route);
  return replacement;
}

StreamSettings Stream::settings() const {
  std::shared_ptr<const Route> route;
  {
    const MutexLock lock(mutex_);
    route = changes_.route();
  }
  StreamSettings settings{.id = id_, .configs_can_change = !rules_.recorded};
  for (std::size_t i = 0; i < route->stops.size(); ++i) {
    const CapsuleSlot& slot = *(*route->compiled_plan)[i].slot;
    settings.capsules.push_back(
        capsule_settings(slot.capsule->info(), route->options[i],
                         info_for(slot, route->stops[i].config.get()).config, id_));
  }
  return settings;
}

std::int64_t Stream::apply(Replacement& replacement) {
  // The old capsule may come back while its last frames are in flight, as after a failed trial.
  if (replacement.retired) replacement.retired->states.retire();
  {
    const MutexLock lock(mutex_);
    if (!finishing_) {
      set_route(replacement.route);
      changes_.add(last_index_ + 1, std::move(replacement.change));
      return last_index_ + 1;
    }
  }
  // The stream has ended meanwhile, and nothing else would close the state that was opened.
  cancel(replacement);
  const MutexLock lock(mutex_);
  return last_index_ + 1;
}

void Stream::cancel(const Replacement& replacement) noexcept {
  if (replacement.is_open) replacement.stop.lane->states.cancel(replacement.stop.state_number);
}

}  // namespace vcap
