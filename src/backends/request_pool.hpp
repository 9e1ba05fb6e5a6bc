// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backends/device_turns.hpp"
#include "base/thread_annotations.hpp"
#include "vcap/backends/engine.hpp"

namespace vcap {

/// A request and its place on the device.
struct PooledRequest {
  std::unique_ptr<InferenceRequest> request{};
  DeviceTurns::Place place{};
};

/// The requests of one compiled model. Thread safety: thread-safe.
class RequestPool {
 public:
  /// `owner`: see DeviceTurns::add_model.
  RequestPool(std::unique_ptr<CompiledModel> model, std::shared_ptr<DeviceTurns> turns,
              const void* owner)
      : model_(std::move(model)),
        turns_(std::move(turns)),
        turns_model_(turns_->add_model(model_->parallel_requests(), owner)),
        size_(model_->optimal_requests()),
        feeders_(model_->runs_on_host() ? model_->parallel_requests() : size_) {
    for (std::size_t i = 0; i < size_; ++i)
      free_.push_back(std::make_unique<PooledRequest>(
          PooledRequest{model_->make_request(), {turns_model_.get()}}));
  }

  cv::Size input_size() const { return model_->input_size(); }
  std::size_t size() const noexcept { return size_; }
  /// How many threads should feed the device, each with one picture at a time.
  std::size_t feeders() const noexcept { return feeders_; }
  DeviceTurns& turns() const noexcept { return *turns_; }

  /// nullptr if none is free.
  std::unique_ptr<PooledRequest> try_take() {
    const MutexLock lock(mutex_);
    if (free_.empty()) return nullptr;
    auto request = std::move(free_.back());
    free_.pop_back();
    return request;
  }
  /// Waits until one is free.
  std::unique_ptr<PooledRequest> take() {
    MutexLock lock(mutex_);
    returned_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return !free_.empty(); });
    auto request = std::move(free_.back());
    free_.pop_back();
    return request;
  }
  void give_back(std::unique_ptr<PooledRequest> request) {
    {
      const MutexLock lock(mutex_);
      free_.push_back(std::move(request));
    }
    returned_.notify_one();
  }

 private:
  const std::unique_ptr<CompiledModel> model_;
  const std::shared_ptr<DeviceTurns> turns_;
  const DeviceTurns::ModelHandle turns_model_;
  const std::size_t size_;
  const std::size_t feeders_;
  Mutex mutex_;
  CondVar returned_;
  // Destroyed before the model.
  std::vector<std::unique_ptr<PooledRequest>> free_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
