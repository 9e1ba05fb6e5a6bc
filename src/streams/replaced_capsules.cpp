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

void add_past_to(DevicesByName& devices, const CapsuleSlot::Backends& backends) {
  for (BackendStatistics backend : backends.get()) {
    backend.running = 0;
    backend.calls_per_second = 0;
    if (backend.batches) backend.batches->queued = 0;
    add_to(devices, backend);
  }
}

void ReplacedCapsules::add(const std::shared_ptr<CapsuleSlot>& slot) {
  fold_past();  // otherwise they would pile up if stats() is never called
  // A capsule may come back, as after a trial, and be replaced again.
  // Compared without weak_ptr::lock(), which could make this the last holder of another capsule.
  const auto is_same = [&](const Replaced& one) {
    return !one.slot.owner_before(slot) && !slot.owner_before(one.slot);
  };
  if (std::ranges::any_of(replaced_, is_same)) return;
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
    if (!one.is_destroyed()) return false;
    add_past_to(past_, one.backends_at_end);
    return true;
  });
}

std::vector<CapsuleSlot::Backends> ReplacedCapsules::ending() const {
  std::vector<CapsuleSlot::Backends> ending;
  for (const Replaced& one : replaced_)
    if (one.slot.expired()) ending.push_back(one.backends_at_end);
  return ending;
}

}  // namespace vcap
