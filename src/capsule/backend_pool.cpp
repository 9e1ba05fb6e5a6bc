// SPDX-License-Identifier: Apache-2.0
#include "capsule/backend_pool.hpp"
#include "base/call_meter.hpp"
#include "base/text.hpp"
#include "capsule/current_capsule.hpp"

#include <cassert>
#include <exception>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::detail {

struct BackendPool::Slot {
  std::string device;
  std::unique_ptr<Backend> backend;
  std::atomic<int> calls = 0;  ///< in progress here
  std::atomic<std::uint64_t> begun = 0;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  CallMeter meter{};
  std::string failure;  ///< why there is no usable backend

  double load() const noexcept {
    return backend->workload() + calls.load(std::memory_order_relaxed);
  }
};

namespace {

std::unique_ptr<Backend> load_one(BaseCapsule& author, const CapsuleFiles& files,
                                  const std::string& device, std::string& failure) noexcept {
  try {
    std::unique_ptr<Backend> backend = author.load_backend(files, device);
    if (!backend) failure = "load_backend returned null; it must return a backend or throw";
    return backend;
  } catch (...) {
    failure = exception_text(std::current_exception());
    return nullptr;
  }
}

void set_up(Backend& backend, const CapsuleFiles& files, const std::optional<BatchSizes>& batch,
            std::string& failure) noexcept {
  std::string step = "set_batch_sizes";
  try {
    if (batch) backend.set_batch_sizes(*batch);
    step = "setup_with_resources";
    backend.setup_with_resources(files);
  } catch (...) {
    failure = step + " failed: " + exception_text(std::current_exception());
  }
}

/// Runs load(0) … load(count - 1), each on its own thread, the first on the calling thread.
template <class Load>
void at_once(std::size_t count, Load load) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  std::size_t started = 1;
  try {
    for (; started < count; ++started) threads.emplace_back(load, started);
  } catch (const std::system_error&) {
    // The system gives no more threads: the rest is loaded on this thread.
  }
  for (std::size_t i = started; i < count; ++i) load(i);
  if (count > 0) load(0);
}

void drain(Backend& backend, const std::string& device, std::vector<std::string>& errors) noexcept {
  try {
    backend.drain();
  } catch (...) {
    errors.push_back("the backend on " + device +
                     " failed while it was drained: " + exception_text(std::current_exception()));
  }
}

}  // namespace

BackendPool::Lease::Lease(Slot& slot) noexcept
    : slot_(slot), exceptions_before_(std::uncaught_exceptions()) {
  slot_.calls.fetch_add(1, std::memory_order_relaxed);
  slot_.begun.fetch_add(1, std::memory_order_relaxed);
}

BackendPool::Lease::~Lease() {
  slot_.calls.fetch_sub(1, std::memory_order_relaxed);
  slot_.meter.add(begin_, std::chrono::steady_clock::now(),
                  std::uncaught_exceptions() > exceptions_before_);
}

Backend& BackendPool::Lease::operator*() const noexcept { return *slot_.backend; }

const std::string& BackendPool::Lease::device() const noexcept { return slot_.device; }

BackendPool::BackendPool() = default;

BackendPool::BackendPool(BaseCapsule& author, const CapsuleFiles& files, const CapsuleInfo& info,
                         const std::vector<std::string>& devices) {
  for (const std::string& device : devices) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->device = device;
  }
  const std::string subject = "capsule " + info.name;
  at_once(slots_.size(), [&](std::size_t i) {
    const CurrentCapsule current(subject);
    Slot& slot = *slots_[i];
    slot.backend = load_one(author, files, slot.device, slot.failure);
    if (slot.backend) set_up(*slot.backend, files, info.batch, slot.failure);
  });

  std::string failures;
  for (const auto& slot : slots_)
    if (!slot->backend || !slot->failure.empty())
      failures += (failures.empty() ? "" : "; ") + slot->device + ": " + slot->failure;
  if (failures.empty()) return;
  for (const std::string& error : close()) log(LogLevel::error, error);
  throw CapsuleLoadError(ErrorCode::backend_load_failed,
                         "capsule " + info.name + " could not load its backend on " + failures);
}

BackendPool::~BackendPool() {
  for (const std::string& error : close()) log(LogLevel::error, error);
}

std::vector<std::string> BackendPool::devices() const {
  std::vector<std::string> devices;
  for (const auto& slot : slots_) devices.push_back(slot->device);
  return devices;
}

BackendPool::Lease BackendPool::lease_least_busy() {
  assert(!empty());
  if (slots_.size() == 1) return Lease(*slots_.front());
  // Choosing and counting are one step: concurrent calls must not all choose the same idle slot.
  const MutexLock lock(choosing_);
  std::size_t chosen = next_;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::size_t candidate = (next_ + i) % slots_.size();
    const double load = slots_[candidate]->load();
    if (load < least) {
      least = load;
      chosen = candidate;
    }
  }
  next_ = (chosen + 1) % slots_.size();
  return Lease(*slots_[chosen]);  // counts the call
}

const Backend& BackendPool::first() const noexcept { return *slots_.front()->backend; }

double BackendPool::workload() const noexcept {
  double sum = 0;
  for (const auto& slot : slots_) sum += slot->load();
  return sum;
}

std::vector<BackendStatistics> BackendPool::statistics() const {
  const auto now = std::chrono::steady_clock::now();
  std::vector<BackendStatistics> statistics;
  for (const auto& slot : slots_)
    statistics.push_back({.device = slot->device,
                          .running = static_cast<std::size_t>(slot->calls.load()),
                          .calls = slot->begun,
                          .failures = slot->meter.failures(),
                          .calls_per_second = slot->meter.per_second(now, slot->begin),
                          .call_ns = slot->meter.times_ns(),
                          .workload = slot->backend->workload(),
                          .batches = slot->backend->batch_statistics()});
  return statistics;
}

std::vector<std::string> BackendPool::close() noexcept {
  std::vector<std::string> errors;
  for (const auto& slot : slots_)
    if (slot->backend) drain(*slot->backend, slot->device, errors);
  for (const auto& slot : slots_)
    if (slot->backend) slot->backend->close();
  slots_.clear();
  return errors;
}

}  // namespace vcap::detail
