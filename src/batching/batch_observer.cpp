// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_observer.hpp"

namespace vcap::detail {
namespace {

thread_local BatchObserverScope::Observer current_observer;

}  // namespace

BatchObserver::~BatchObserver() = default;

BatchObserverScope::BatchObserverScope(Observer observer) noexcept
    : outer_(std::exchange(current_observer, std::move(observer))) {}

BatchObserverScope::~BatchObserverScope() { current_observer = std::move(outer_); }

const BatchObserverScope::Observer& BatchObserverScope::current() noexcept {
  return current_observer;
}

}  // namespace vcap::detail
