// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "batching/batch_observer.hpp"
#include "capsule/call_observer.hpp"

namespace vcap::test {

/// A call whose batches that observer sees.
class ObservedCall final : public detail::CallObserver {
 public:
  explicit ObservedCall(std::shared_ptr<detail::BatchObserver> batches)
      : batches_(std::move(batches)) {}
  std::shared_ptr<detail::BatchObserver> begin(const std::string&) noexcept override {
    return batches_;
  }
  void end() noexcept override {}

 private:
  const std::shared_ptr<detail::BatchObserver> batches_;
};

}  // namespace vcap::test
