// SPDX-License-Identifier: Apache-2.0
#include "streams/state_keeper.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/stream_states.hpp"

namespace vcap {

bool StateKeeper::is_open_in(const Capsule& capsule) const noexcept {
  return std::ranges::any_of(places_,
                             [&](const Place& place) { return place.capsule.get() == &capsule; });
}

StreamInfo StateKeeper::info_of(const Place& place) const {
  StreamInfo info = info_;
  if (place.config) info.config = *place.config;
  if (next_ > 0) {  // what the stream began with is long past
    info.saved = nullptr;
    info.saved_by = 0;
  }
  return info;
}

std::uint64_t StateKeeper::open(std::shared_ptr<Capsule> capsule, bool continues,
                                std::shared_ptr<const JsonValue> config) {
  Place place{.capsule = std::move(capsule), .continues = continues, .config = std::move(config)};
  const MutexLock lock(mutex_);
  // A state is already open if a capsule comes back before its last frame has passed. With another
  // config it is opened once that frame has passed: serve().
  const auto same = std::ranges::find_if(places_, [&](const Place& other) {
    return other.capsule == place.capsule && other.config == place.config;
  });
  if (same != places_.end())
    place.handle = same->handle;
  else if (!is_open_in(*place.capsule))
    place.handle = open_in(*place.capsule, info_of(place));
  place.number = next_;
  places_.push_back(std::move(place));
  return next_++;
}

void StateKeeper::cancel(std::uint64_t number) noexcept {
  Aftermath after;
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(places_, number, &Place::number);
  if (found == places_.end()) return;
  after.passed.push_back(std::move(*found));
  places_.erase(found);
  const Place& place = after.passed.front();
  if (!is_open_in(*place.capsule)) forget(place, after);
}

StreamHandle StateKeeper::serve(std::uint64_t number) noexcept {
  Aftermath after;
  const MutexLock lock(mutex_);
  if (places_.empty()) return nullptr;
  if (places_.front().number == number) return places_.front().handle;
  const auto now = std::ranges::find(places_, number, &Place::number);
  std::vector<Place>& passed = after.passed;
  passed.assign(std::make_move_iterator(places_.begin()), std::make_move_iterator(now));
  places_.erase(places_.begin(), now);
  // The capsules in between had no frame, but one of them may not continue the state.
  const bool continues =
      places_.front().continues &&
      std::all_of(std::next(passed.begin()), passed.end(), std::mem_fn(&Place::continues));
  nlohmann::json saved = continues ? saved_state_of(passed.front(), after) : nlohmann::json();
  for (const Place& place : passed) {
    forget(place, after);
    // It serves again, now or later; its state comes from frames long past.
    if (is_open_in(*place.capsule)) reopen_next(*place.capsule, after);
  }
  const Place& to = places_.front();
  if (!saved.is_null()) {
    StreamInfo info = info_of(to);
    info.saved = std::move(saved);
    info.saved_by = passed.front().capsule->info().version;
    forget(to, after);
    reopen(to, std::move(info), after);
    carry_on(passed.front(), to, after);
  }
  return to.handle;
}

void StateKeeper::retire() noexcept {
  Aftermath after;
  const MutexLock lock(mutex_);
  for (const Place& place : places_) forget(place, after);
  apart_ = true;
}

void StateKeeper::close() noexcept {
  Aftermath after;
  const MutexLock lock(mutex_);
  after.passed.swap(places_);
  for (const Place& place : after.passed) forget(place, after);
}

StateKeeper::Aftermath::~Aftermath() {
  for (const auto& [level, message] : messages) log(level, message);
}

/// Null if there is nothing. If a state cannot be saved, a new one is made, which every capsule
/// supports.
nlohmann::json StateKeeper::saved_state_of(const Place& place, Aftermath& after) const noexcept {
  try {
    return apart_ ? detail::saved_state(*place.handle) : place.capsule->save_state(info_.id);
  } catch (...) {
    after.messages.emplace_back(LogLevel::warning,
                                "stream " + info_.id + ": capsule " + place.capsule->name() +
                                    " could not save its state, so the stream gets a new state: " +
                                    exception_text(std::current_exception()));
    return {};
  }
}

StreamHandle StateKeeper::open_in(Capsule& capsule, StreamInfo info) const {
  return apart_ ? capsule.open_apart(std::move(info)) : capsule.open_stream(std::move(info));
}

/// Also for later places of the same capsule with the same config.
void StateKeeper::reopen(const Place& place, StreamInfo info, Aftermath& after) noexcept {
  try {
    const StreamHandle handle = open_in(*place.capsule, std::move(info));
    for (Place& same : places_)
      if (same.capsule == place.capsule && same.config == place.config) same.handle = handle;
  } catch (...) {
    after.messages.emplace_back(LogLevel::error,
                                "stream " + info_.id + ": opening its state in capsule " +
                                    place.capsule->name() +
                                    " failed: " + exception_text(std::current_exception()));
  }
}

/// For the next frames of a capsule that has forgotten the stream.
void StateKeeper::reopen_next(const Capsule& capsule, Aftermath& after) noexcept {
  const auto next = std::ranges::find_if(
      places_, [&](const Place& place) { return place.capsule.get() == &capsule; });
  reopen(*next, info_of(*next), after);
}

/// The new version may give what it finds in the saved state.
void StateKeeper::carry_on(const Place& from, const Place& to, Aftermath& after) const noexcept {
  try {
    if (from.handle && to.handle) detail::continue_passed_on(*from.handle, *to.handle);
  } catch (...) {
    after.messages.emplace_back(
        LogLevel::error,
        "stream " + info_.id + ": what capsule " + to.capsule->name() +
            " was given before is lost: " + exception_text(std::current_exception()));
  }
}

void StateKeeper::forget(const Place& place, Aftermath& after) const noexcept {
  if (apart_) return;  // released with its handle
  try {
    place.capsule->clean_up(info_.id);
  } catch (...) {
    after.messages.emplace_back(LogLevel::error,
                                "stream " + info_.id + ": dropping its state in capsule " +
                                    place.capsule->name() +
                                    " failed: " + exception_text(std::current_exception()));
  }
}

}  // namespace vcap
