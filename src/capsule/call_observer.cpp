// SPDX-License-Identifier: Apache-2.0
#include "capsule/call_observer.hpp"

#include <utility>

namespace vcap::detail {
namespace {

thread_local CallObserver* current_call_observer = nullptr;

}  // namespace

CallObserverScope::CallObserverScope(CallObserver& observer) noexcept {
  current_call_observer = &observer;
}

CallObserverScope::~CallObserverScope() { current_call_observer = nullptr; }

ObservedBackend::ObservedBackend(const std::string& device) noexcept
    : observer_(std::exchange(current_call_observer, nullptr)) {
  // Also without an observer: a capsule called by an observed one is not observed.
  if (observer_ != nullptr)
    batches_.emplace(observer_->begin(device));
  else if (BatchObserverScope::current())
    batches_.emplace(nullptr);
}

ObservedBackend::~ObservedBackend() {
  if (observer_ != nullptr) observer_->end();
}

}  // namespace vcap::detail
