// SPDX-License-Identifier: Apache-2.0
#include "backends/device_turns.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace vcap {

class DeviceTurns::Model {
 public:
  Model(std::size_t parallel_requests, const void* its_owner)
      : share(1 / static_cast<double>(std::max<std::size_t>(1, parallel_requests))),
        owner(its_owner) {}

  /// Turns do not make long runs faster; they only make the other models wait.
  bool takes_turns() const { return typical_run < kLongestRun; }
  void took(std::chrono::steady_clock::duration run) {
    constexpr int kMemory = 8;  // runs that the average covers
    typical_run += (run - typical_run) / kMemory;
  }

  const double share;  // of the device, for each running request
  const void* const owner;
  std::chrono::steady_clock::duration typical_run{};  // from the start of a request to its end
  std::deque<Waiting> waiting{};
  std::size_t kept = 0;  // places that are kept for its next requests
  TimePoint kept_until{};
};

std::shared_ptr<DeviceTurns> DeviceTurns::of_device(const std::string& name) {
  std::string device = name;
  std::ranges::replace(device, ':', '.');
  if (device.ends_with(".0")) device.resize(device.size() - 2);
  static Mutex mutex;
  static std::map<std::string, std::weak_ptr<DeviceTurns>>& devices VCAP_GUARDED_BY(mutex) =
      *new std::map<std::string, std::weak_ptr<DeviceTurns>>;
  const MutexLock lock(mutex);
  std::weak_ptr<DeviceTurns>& known = devices[device];
  std::shared_ptr<DeviceTurns> turns = known.lock();
  if (!turns) known = turns = std::make_shared<DeviceTurns>();
  return turns;
}

DeviceTurns::DeviceTurns() = default;

DeviceTurns::~DeviceTurns() { assert(models_.empty()); }

DeviceTurns::ModelHandle DeviceTurns::add_model(std::size_t parallel_requests, const void* owner) {
  ModelHandle handle(new Model(parallel_requests, owner), [this](Model* model) {
    remove(model);
    delete model;
  });
  const MutexLock lock(mutex_);
  models_.push_back(handle.get());
  return handle;
}

void DeviceTurns::remove(Model* model) {
  const MutexLock lock(mutex_);
  assert(model->waiting.empty());
  std::erase(models_, model);
  if (holder_ == model) holder_ = nullptr;
}

bool DeviceTurns::ask(Place& place, TimePoint now, Granted granted) {
  std::vector<Waiting> started;
  {
    const MutexLock lock(mutex_);
    take_kept(*place.model);
    if (!place.model->takes_turns() && place.model->waiting.empty()) {
      start(place, now);
      return true;
    }
    place.model->waiting.push_back({&place, std::move(granted)});
    started = start_waiting(now);
  }
  bool may_start = false;
  for (const Waiting& one : started) {
    if (one.place == &place)
      may_start = true;
    else
      one.granted();
  }
  return may_start;
}

void DeviceTurns::start_at_once(Place& place, TimePoint now) {
  const MutexLock lock(mutex_);
  take_kept(*place.model);
  start(place, now);
}

void DeviceTurns::done(Place& place, TimePoint now) {
  std::vector<Waiting> started;
  {
    const MutexLock lock(mutex_);
    std::erase(running_, &place);
    place.model->took(now - place.started);
    keep_place(*place.model, now);
    started = start_waiting(now);
  }
  for (const Waiting& one : started) one.granted();
}

std::optional<DeviceTurns::TimePoint> DeviceTurns::grant_due(TimePoint now) {
  std::vector<Waiting> started;
  std::optional<TimePoint> again;
  {
    const MutexLock lock(mutex_);
    started = start_waiting(now);
    // A place becomes free when the earliest request that still counts no longer does.
    if (std::ranges::any_of(models_, [](const Model* model) { return !model->waiting.empty(); })) {
      const auto counts_until = [&](TimePoint end) {
        if (end > now && (!again || end < *again)) again = end;
      };
      for (const Place* place : running_) counts_until(place->started + kTurn);
      if (holder_ && holder_->kept > 0) counts_until(holder_->kept_until);
    }
  }
  for (const Waiting& one : started) one.granted();
  return again;
}

std::vector<DeviceTurns::Waiting> DeviceTurns::start_waiting(TimePoint now) {
  std::vector<Waiting> started;
  while (Model* const model = choose(now)) {
    started.push_back(std::move(model->waiting.front()));
    model->waiting.pop_front();
    start(*started.back().place, now);
  }
  return started;
}

/// The model whose first waiting request may start; null if none may. Passes the turn on when it
/// has ended.
DeviceTurns::Model* DeviceTurns::choose(TimePoint now) {
  const bool ended = holder_ == nullptr || now >= turn_end_;
  if (ended && holder_) holder_->kept = 0;
  if (!ended && !holder_->waiting.empty()) return holder_;
  // In a round: those behind the holder, and it last.
  const auto holder = std::ranges::find(models_, holder_);
  const auto behind = holder == models_.end() ? models_.begin() : holder + 1;
  const auto waits = [](const Model* model) { return !model->waiting.empty(); };
  auto next = std::find_if(behind, models_.end(), waits);
  if (next == models_.end()) {
    next = std::find_if(models_.begin(), behind, waits);
    if (next == behind) return nullptr;
  }
  if (*next != holder_ && !has_room(**next, now)) return nullptr;
  if (ended) {
    holder_ = *next;
    turn_end_ = now + kTurn;
  }
  return *next;
}

void DeviceTurns::start(Place& place, TimePoint now) {
  place.started = now;
  running_.push_back(&place);
}

/// The model's next request takes over the place that was kept for it.
void DeviceTurns::take_kept(Model& model) {
  if (model.kept > 0) --model.kept;
}

/// Keeps the place of a request that has just ended, if the holder's next one is about to follow.
/// No thread is woken when a kept place expires. So it is kept only while another request of the
/// holder runs; the end of that request starts waiting ones.
void DeviceTurns::keep_place(Model& model, TimePoint now) {
  const bool runs =
      std::ranges::any_of(running_, [&](const Place* running) { return running->model == &model; });
  if (!runs) {
    model.kept = 0;
  } else if (&model == holder_ && model.takes_turns() && model.waiting.empty()) {
    ++model.kept;
    model.kept_until = now + model.typical_run / kPartKept;
  }
}

/// Whether running requests, and places kept by others, leave a part of the device idle for the
/// model.
bool DeviceTurns::has_room(const Model& model, TimePoint now) const {
  double used = 0;
  for (const Place* place : running_)
    if (place->model->takes_turns() && now < place->started + kTurn) used += place->model->share;
  const bool of_owner = holder_ && holder_->owner && holder_->owner == model.owner;
  if (holder_ && !of_owner && now < holder_->kept_until)
    used += static_cast<double>(holder_->kept) * holder_->share;
  constexpr double kRounding = 1e-9;  // of a sum such as 3 · ⅓
  return used < 1 - kRounding;
}

}  // namespace vcap
