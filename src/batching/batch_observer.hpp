// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "vcap/base/export.hpp"

namespace vcap::detail {

/// Is told of each batch. Thread safety: thread-safe.
class VCAP_EXPORT BatchObserver {
 public:
  BatchObserver() = default;
  BatchObserver(const BatchObserver&) = delete;
  BatchObserver& operator=(const BatchObserver&) = delete;
  virtual ~BatchObserver();

  /// Right before predict; gives a number for end(). [batch worker, concurrent]
  virtual std::size_t begin(std::size_t items) noexcept = 0;
  /// Right after it. [batch worker, concurrent]
  virtual void end(std::size_t batch) noexcept = 0;
};

/// Says, for as long as it lives, who is to be told of the batches of the executors that this
/// thread sends requests to: until someone sends with another observer, or with none. Scopes nest.
/// Thread safety: thread-compatible.
class VCAP_EXPORT BatchObserverScope {
 public:
  using Observer = std::shared_ptr<BatchObserver>;

  explicit BatchObserverScope(Observer observer) noexcept;
  ~BatchObserverScope();
  BatchObserverScope(const BatchObserverScope&) = delete;
  BatchObserverScope& operator=(const BatchObserverScope&) = delete;

  /// The calling thread's; null outside any scope.
  static const Observer& current() noexcept;

 private:
  const Observer observer_;
  const BatchObserverScope* const outer_;
};

}  // namespace vcap::detail
