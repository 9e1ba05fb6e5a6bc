// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap::detail {

/// A capsule's backends, one for each device string, and which of them gets the next call.
///
/// Thread-safe, close() excepted, which comes after the last Lease is gone.
class BackendPool {
  struct Slot;

 public:
  /// A call's hold on the backend that was chosen for it.
  class Lease {
   public:
    explicit Lease(Slot& slot) noexcept;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    /// Where an exception ends it, the call has failed.
    ~Lease();
    Backend& operator*() const noexcept;
    Backend* operator->() const noexcept { return &**this; }
    const std::string& device() const noexcept;

   private:
    Slot& slot_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    const int exceptions_before_;
  };

  /// Of no backend.
  BackendPool();
  /// Loads a backend on each device and sets it up, all at once. Where one fails, closes the others
  /// and throws CapsuleLoadError (backend_load_failed) naming the capsule, every device that failed
  /// and why.
  BackendPool(BaseCapsule& author, const CapsuleFiles& files, const CapsuleInfo& info,
              const std::vector<std::string>& devices);
  /// Closes.
  ~BackendPool();

  bool empty() const noexcept { return slots_.empty(); }
  std::vector<std::string> devices() const;
  /// The backend that has the least waiting and running; of equal ones, each in its turn.
  /// There must be one.
  Lease lease_least_busy();
  /// The first backend; there must be one.
  const Backend& first() const noexcept;
  double workload() const noexcept;
  std::vector<BackendStatistics> statistics() const;
  /// Drains all, closes all, destroys all. Twice is once.
  void close() noexcept;

 private:
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex choosing_;
  std::size_t next_ = 0;  ///< where the search begins
};

}  // namespace vcap::detail
