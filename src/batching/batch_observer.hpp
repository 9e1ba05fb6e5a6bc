// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "vcap/base/export.hpp"

namespace vcap::detail {

/// Gets a call before and after each batch. Thread safety: thread-safe.
class VCAP_EXPORT BatchObserver {
 public:
  BatchObserver() = default;
  BatchObserver(const BatchObserver&) = delete;
  BatchObserver& operator=(const BatchObserver&) = delete;
  virtual ~BatchObserver();

  /// Right before predict; returns a number for end(). [batch worker or leader, concurrent]
  virtual std::size_t begin(std::size_t items) noexcept = 0;
  /// Right after predict. [batch worker or leader, concurrent]
  virtual void end(std::size_t batch) noexcept = 0;
};

/// Sets, for its lifetime, the observer for requests from this thread. Each executor that gets such
/// a request reports its batches to this observer, until it gets a request with another observer or
/// with none. Scopes nest. Thread safety: thread-compatible.
class VCAP_EXPORT BatchObserverScope {
 public:
  using Observer = std::shared_ptr<BatchObserver>;

  explicit BatchObserverScope(Observer observer) noexcept;
  ~BatchObserverScope();
  BatchObserverScope(const BatchObserverScope&) = delete;
  BatchObserverScope& operator=(const BatchObserverScope&) = delete;

  /// The calling thread's observer; null outside any scope.
  static const Observer& current() noexcept;

 private:
  const Observer observer_;
  const BatchObserverScope* const outer_;
};

/// Sets, for its lifetime, that requests from this thread have no observer. For a leader: what the
/// batch sends is not a part of its own call. Thread safety: thread-compatible.
class NoBatchObserver {
 public:
  NoBatchObserver() noexcept;
  ~NoBatchObserver();
  NoBatchObserver(const NoBatchObserver&) = delete;
  NoBatchObserver& operator=(const NoBatchObserver&) = delete;

 private:
  const BatchObserverScope* const outer_;
};

}  // namespace vcap::detail
