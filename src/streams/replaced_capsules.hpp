// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "streams/compiled_plan.hpp"
#include "vcap/observe/pipeline_stats.hpp"

namespace vcap {

using DevicesByName = std::map<std::string, DeviceStats>;

void add_to(DevicesByName& devices, const BackendStatistics& backend);
/// Adds what a capsule did that is gone, or is being destroyed; then it waits.
void add_past_to(DevicesByName& devices, const CapsuleSlot::Backends& backends);

/// The replaced capsules of a pipeline. Keeps what they did on each device after they are gone.
/// Thread safety: thread-compatible.
class ReplacedCapsules {
 public:
  void add(const std::shared_ptr<CapsuleSlot>& slot);
  /// Replaced capsules that are still in use, without those that are back in `capsule_set`.
  Slots at_work(const Slots& capsule_set);
  /// What the destroyed ones did, as of the last add() or at_work().
  const DevicesByName& past() const noexcept { return past_; }
  /// Those that are being destroyed, which past() does not count yet; as of the same call. For
  /// add_past_to(), without a lock: one of them may wait for its author's close().
  std::vector<CapsuleSlot::Backends> ending() const;

 private:
  void fold_past();

  struct Replaced {
    std::weak_ptr<CapsuleSlot> slot;
    CapsuleSlot::Backends backends_at_end;
    bool is_destroyed() const {
      return backends_at_end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
  };

  std::vector<Replaced> replaced_{};
  DevicesByName past_{};
};

}  // namespace vcap
