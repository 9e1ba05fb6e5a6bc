// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "streams/compiled_plan.hpp"
#include "vcap/observe/pipeline_stats.hpp"

namespace vcap {

using DevicesByName = std::map<std::string, DeviceStats>;

void add_to(DevicesByName& devices, const BackendStatistics& backend);

/// The replaced capsules of a pipeline. Keeps what they did on each device after they are gone.
/// Thread safety: thread-compatible.
class ReplacedCapsules {
 public:
  void add(const std::shared_ptr<CapsuleSlot>& slot);
  /// Replaced capsules that are still in use, without those that are back in `capsule_set`. May
  /// wait for one that is being destroyed.
  Slots at_work(const Slots& capsule_set);
  /// What the destroyed ones did, as of the last add() or at_work().
  const DevicesByName& past() const noexcept { return past_; }

 private:
  void fold_past();

  struct Replaced {
    std::weak_ptr<CapsuleSlot> slot;
    CapsuleSlot::Backends backends_at_end;
  };

  std::vector<Replaced> replaced_{};
  DevicesByName past_{};
};

}  // namespace vcap
