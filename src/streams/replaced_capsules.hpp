// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "streams/program.hpp"
#include "vcap/base/export.hpp"
#include "vcap/observe/pipeline_stats.hpp"

namespace vcap {

using DevicesByName = std::map<std::string, DeviceStats>;

void add_to(DevicesByName& devices, const BackendStatistics& backend);

/// The capsules of a pipeline whose place others have taken, so that what they did for a device is
/// not forgotten with them. Thread safety: thread-compatible.
class VCAP_EXPORT ReplacedCapsules {
 public:
  void add(const std::shared_ptr<CapsuleSlot>& slot);
  /// Those that still have frames on their way, but for those that are back in `lineup`. May wait
  /// for one that ends just now.
  Slots at_work(const Slots& lineup);
  /// What those did that have ended; as the last add() or at_work() found it.
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
