// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "batching/batch_observer.hpp"
#include "vcap/base/export.hpp"

namespace vcap::detail {

/// Gets notified about one call of a capsule. Thread safety: thread-compatible.
class CallObserver {
 public:
  /// The backend on that device begins; returns the observer of its batches. [caller's thread]
  virtual std::shared_ptr<BatchObserver> begin(const std::string& device) noexcept = 0;
  /// The backend has returned or thrown. [caller's thread]
  virtual void end() noexcept = 0;

 protected:
  ~CallObserver() = default;
};

/// Sets, for its lifetime, the observer of the call that this thread makes; nested calls of other
/// capsules are not observed. Thread safety: thread-compatible.
class VCAP_EXPORT CallObserverScope {
 public:
  explicit CallObserverScope(CallObserver& observer) noexcept;
  ~CallObserverScope();
  CallObserverScope(const CallObserverScope&) = delete;
  CallObserverScope& operator=(const CallObserverScope&) = delete;
};

/// Reports the backend's part of a call to the observer, if there is one.
class ObservedBackend {
 public:
  explicit ObservedBackend(const std::string& device) noexcept;
  ~ObservedBackend();
  ObservedBackend(const ObservedBackend&) = delete;
  ObservedBackend& operator=(const ObservedBackend&) = delete;

 private:
  CallObserver* const observer_;
  std::optional<BatchObserverScope> batches_{};
};

}  // namespace vcap::detail
