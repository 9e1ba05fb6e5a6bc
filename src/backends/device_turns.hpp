// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"

namespace vcap {

/// Decides which of several models on one device may start its next request.
///
/// One model at a time has the turn, for kTurn while others wait: its weights stay in the
/// processor's caches, and the device does not run the requests of all models at once. The holder
/// starts all its requests; another model starts one only while the device has a free place, so
/// turns leave no core idle. A place does not count as free while the holder's next request is
/// about to follow. A request that has run for kTurn no longer counts, so a slow or hanging model
/// does not hold up the others for longer. A single model never waits. Why:
/// docs/benchmark-reasons.md.
///
/// Passive: it has no thread and no clock; callers pass the time. Used by ModelRunner.
/// Thread safety: thread-safe.
class DeviceTurns {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kTurn{50};
  /// A model whose requests typically run for longer takes no turns: it always may start, and does
  /// not count.
  static constexpr std::chrono::milliseconds kLongestRun{25};
  /// A place is kept for this part of the model's typical run.
  static constexpr int kPartKept = 4;

  /// A compiled model on the device. None of its requests runs or waits when it is destroyed.
  class Model;
  using ModelHandle = std::unique_ptr<Model, std::function<void(Model*)>>;

  /// The place of one request of a model, which the request uses for each of its runs.
  struct Place {
    Model* model = nullptr;
    TimePoint started{};
  };
  /// Signals that the request may start. Called once, without a lock, within a call of done(),
  /// ask() or grant_due() of any thread; must neither block nor throw.
  using Granted = std::function<void()>;

  /// The turns of the device of that name, shared by the whole process. CPU and CPU:0 are the same,
  /// and so are GPU, GPU.0 and GPU:0.
  static std::shared_ptr<DeviceTurns> of_device(const std::string& name);

  DeviceTurns();
  ~DeviceTurns();
  DeviceTurns(const DeviceTurns&) = delete;
  DeviceTurns& operator=(const DeviceTurns&) = delete;

  /// `parallel_requests`: how many of the model's requests keep the device busy; at least 1.
  /// `owner`: models of one owner, such as those for several sizes of pictures, keep no places from
  /// each other. The model must be destroyed before this.
  ModelHandle add_model(std::size_t parallel_requests, const void* owner = nullptr);

  /// true: the request may start now. false: it waits until `granted` is called.
  bool ask(Place& place, TimePoint now, Granted granted);
  /// The request starts, even without the turn.
  void start_at_once(Place& place, TimePoint now);
  /// The request that had started is done, or could not start.
  void done(Place& place, TimePoint now);
  /// Grants what may start because time has passed. Returns when to call it again; nullopt if no
  /// request waits.
  std::optional<TimePoint> grant_due(TimePoint now);

 private:
  struct Waiting {
    Place* place = nullptr;
    Granted granted{};
  };
  Model* choose(TimePoint now) VCAP_REQUIRES(mutex_);
  std::vector<Waiting> start_waiting(TimePoint now) VCAP_REQUIRES(mutex_);
  void start(Place& place, TimePoint now) VCAP_REQUIRES(mutex_);
  void take_kept(Model& model) VCAP_REQUIRES(mutex_);
  bool has_room(const Model& model, TimePoint now) const VCAP_REQUIRES(mutex_);
  void keep_place(Model& model, TimePoint now) VCAP_REQUIRES(mutex_);
  void remove(Model* model) VCAP_EXCLUDES(mutex_);

  Mutex mutex_;
  // In the order of their turns. All of a Model that changes is guarded, too.
  std::vector<Model*> models_ VCAP_GUARDED_BY(mutex_){};
  std::vector<Place*> running_ VCAP_GUARDED_BY(mutex_){};  // the earliest first
  Model* holder_ VCAP_GUARDED_BY(mutex_) = nullptr;        // of the turn, even after its end
  TimePoint turn_end_ VCAP_GUARDED_BY(mutex_){};
};

}  // namespace vcap
