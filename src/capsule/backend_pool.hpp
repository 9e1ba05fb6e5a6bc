// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap::detail {

/// A capsule's backends, one for each device string; chooses the backend of the next call.
///
/// Thread-safe, except for close(), which must come after the last Lease is gone.
class BackendPool {
  struct Slot;

 public:
  /// Holds the chosen backend for the duration of a call.
  class Lease {
   public:
    explicit Lease(Slot& slot) noexcept;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    /// Counts the call as failed if an exception ends it.
    ~Lease();
    Backend& operator*() const noexcept;
    Backend* operator->() const noexcept { return &**this; }
    const std::string& device() const noexcept;

   private:
    Slot& slot_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    const int exceptions_before_;
  };

  /// Without backends.
  BackendPool();
  /// Loads a backend on each device and sets it up, all in parallel. If one fails, closes the
  /// others and throws CapsuleLoadError (backend_load_failed), which names the capsule, and every
  /// failed device with its error.
  BackendPool(BaseCapsule& author, const CapsuleFiles& files, const CapsuleInfo& info,
              const std::vector<std::string>& devices);
  /// Closes.
  ~BackendPool();

  bool empty() const noexcept { return slots_.empty(); }
  std::vector<std::string> devices() const;
  /// The backend with the least waiting and running; equal ones take turns. Requires at least one
  /// backend.
  Lease lease_least_busy() VCAP_EXCLUDES(choosing_);
  /// The first backend; requires at least one.
  const Backend& first() const noexcept;
  double workload() const noexcept;
  std::vector<BackendStatistics> statistics() const;
  /// Drains, closes and destroys all backends. Idempotent. Returns the errors of drain(), for the
  /// log; the caller may hold a lock.
  [[nodiscard]] std::vector<std::string> close() noexcept;

 private:
  std::vector<std::unique_ptr<Slot>> slots_;
  Mutex choosing_;
  std::size_t next_ VCAP_GUARDED_BY(choosing_) = 0;  ///< where the search begins
};

}  // namespace vcap::detail
