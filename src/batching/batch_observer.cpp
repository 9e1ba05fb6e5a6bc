// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_observer.hpp"

namespace vcap::detail {
namespace {

// A plain pointer: reading it must work even in a thread that cannot allocate memory.
thread_local const BatchObserverScope* current_scope = nullptr;
const BatchObserverScope::Observer kNobody;

}  // namespace

BatchObserver::~BatchObserver() = default;

BatchObserverScope::BatchObserverScope(Observer observer) noexcept
    : observer_(std::move(observer)), outer_(std::exchange(current_scope, this)) {}

BatchObserverScope::~BatchObserverScope() { current_scope = outer_; }

const BatchObserverScope::Observer& BatchObserverScope::current() noexcept {
  return current_scope != nullptr ? current_scope->observer_ : kNobody;
}

NoBatchObserver::NoBatchObserver() noexcept : outer_(std::exchange(current_scope, nullptr)) {}

NoBatchObserver::~NoBatchObserver() { current_scope = outer_; }

}  // namespace vcap::detail
