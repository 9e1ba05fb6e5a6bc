// SPDX-License-Identifier: Apache-2.0
#include "streams/replaced_capsules.hpp"

#include <algorithm>
#include <utility>

namespace vcap {

void add_to(DevicesByName& devices, const BackendStatistics& backend) {
  DeviceStats& device = devices[backend.device];
  device.device = backend.device;
  device.running += backend.running;
  device.calls += backend.calls;
  device.failures += backend.failures;
  device.calls_per_second += backend.calls_per_second;
  device.call_ns.merge(backend.call_ns);
  if (!backend.batches) return;
  device.queued += backend.batches->queued;
  device.batches += backend.batches->batch_sizes.count();
  device.batch_sizes.merge(backend.batches->batch_sizes);
  device.predict_ns.merge(backend.batches->predict_ns);
}

void ReplacedCapsules::add(const std::shared_ptr<CapsuleSlot>& slot) {
  fold_past();  // otherwise they would pile up if stats() is never called
  // A capsule may come back, as after a trial, and be replaced again.
  if (std::ranges::any_of(replaced_, [&](const Replaced& one) { return one.slot.lock() == slot; }))
    return;
  replaced_.push_back({slot, slot->backends_at_end()});
}

Slots ReplacedCapsules::at_work(const Slots& capsule_set) {
  Slots slots;
  for (const Replaced& one : replaced_)
    if (std::shared_ptr<CapsuleSlot> slot = one.slot.lock();
        slot && std::ranges::find(capsule_set, slot) == capsule_set.end())
      slots.push_back(std::move(slot));
  fold_past();
  return slots;
}

void ReplacedCapsules::fold_past() {
  std::erase_if(replaced_, [this](const Replaced& one) {
    if (!one.slot.expired()) return false;
    for (BackendStatistics backend : one.backends_at_end.get()) {
      backend.running = 0;
      backend.calls_per_second = 0;
      if (backend.batches) backend.batches->queued = 0;
      add_to(past_, backend);
    }
    return true;
  });
}

}  // namespace vcap
