// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/call_meter.hpp"
#include "observe/capsule_trace.hpp"
#include "streams/call_places.hpp"
#include "streams/shared_quarantine.hpp"
#include "streams/trial.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/capsule/output_policy.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {

/// One capsule of a pipeline, and what all streams share of it. Thread safety: thread-safe.
struct CapsuleSlot {
  CapsuleSlot(std::shared_ptr<Capsule> given, const QuarantinePolicy& policy,
              std::shared_ptr<Clock> clock, std::int64_t trial_frames,
              std::function<void(bool)> trial_over, std::size_t most_calls = 0)
      : capsule(std::move(given)),
        stateful(static_cast<bool>(capsule->info().stream_state)),
        backends(capsule->devices().size()),
        outputs(capsule->output_policy()),
        quarantine(policy, std::move(clock)),
        trial(trial_frames, std::move(trial_over)),
        places(most_calls) {}
  ~CapsuleSlot();
  CapsuleSlot(const CapsuleSlot&) = delete;
  CapsuleSlot& operator=(const CapsuleSlot&) = delete;

  const std::string& name() const noexcept { return capsule->name(); }

  const std::shared_ptr<Capsule> capsule;
  const bool stateful;
  const std::size_t backends;
  /// How its output is checked; set before any stream uses it.
  OutputPolicy outputs;
  /// False once a backend turned out to lack `process_frames()`, or `process_windows()` if the
  /// capsule has a stencil.
  std::atomic<bool> has_process_frames{true};
  CallMeter meter{};
  SharedQuarantine quarantine;
  Trial trial;
  /// For its calls in progress, over all streams; CallBound says how many.
  SharedCallPlaces places;
  std::unique_ptr<CapsuleTrace> trace{};  ///< null if no trace is wanted

  /// The statistics of the capsule's backends at the time when this object is destroyed.
  using Backends = std::shared_future<std::vector<BackendStatistics>>;
  const Backends& backends_at_end() const noexcept { return backends_at_end_; }

 private:
  std::promise<std::vector<BackendStatistics>> end_{};
  const Backends backends_at_end_ = end_.get_future().share();
};

inline CapsuleSlot::~CapsuleSlot() {
  try {
    end_.set_value(capsule->backends());
  } catch (...) {
    end_.set_value({});  // out of memory: the statistics are lost
  }
}

using Slots = std::vector<std::shared_ptr<CapsuleSlot>>;

/// A step of the plan, ready to run. Thread safety: value; read-only once a stream uses it.
struct CompiledStep {
  std::shared_ptr<CapsuleSlot> slot{};
  NodeDescription needs{};
  /// By attribute category that the input lists: the last capsule before this one that provides it.
  std::map<std::string, std::string> attribute_providers{};

  const std::optional<Stencil>& stencil() const noexcept { return slot->capsule->info().stencil; }
  const std::vector<PictureDescription>& takes_pictures() const noexcept {
    return slot->capsule->info().takes_pictures;
  }
  /// Whether its windows hold nodes or pictures of other frames, which earlier steps give.
  bool sees_results_of_others() const noexcept {
    return stencil() && (needs.size == NodeDescription::Size::all || !takes_pictures().empty());
  }
  bool takes_nodes() const noexcept { return needs.size != NodeDescription::Size::none; }
};

using CompiledPlan = std::vector<CompiledStep>;
/// The options of every step for one frame, in the plan's order.
using StepOptions = std::vector<OptionValues>;

}  // namespace vcap
