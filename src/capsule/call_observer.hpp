// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "batching/batch_observer.hpp"
#include "vcap/base/export.hpp"

namespace vcap::detail {

/// Is told what becomes of one call of a capsule. Thread safety: thread-compatible.
class CallObserver {
 public:
  /// The backend on that device begins; gives who is to be told of its batches. [caller's thread]
  virtual std::shared_ptr<BatchObserver> begin(const std::string& device) noexcept = 0;
  /// It has come back or thrown. [caller's thread]
  virtual void end() noexcept = 0;

 protected:
  ~CallObserver() = default;
};

/// Says, for as long as it lives, who is to be told of the call that this thread makes; not of
/// calls that it makes in turn. Thread safety: thread-compatible.
class VCAP_EXPORT CallObserverScope {
 public:
  explicit CallObserverScope(CallObserver& observer) noexcept;
  ~CallObserverScope();
  CallObserverScope(const CallObserverScope&) = delete;
  CallObserverScope& operator=(const CallObserverScope&) = delete;
};

/// The backend's part of a call, told to whoever wants to know.
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
