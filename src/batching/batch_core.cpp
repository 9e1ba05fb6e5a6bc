// SPDX-License-Identifier: Apache-2.0
#include "vcap/batching/batch_core.hpp"

#include <utility>

#include "batching/batch_core_impl.hpp"

namespace vcap::detail {

BatchCall::~BatchCall() = default;

void BatchCall::add(BatchRequest& request) noexcept {
  request.call = this;
  request.next_of_call = nullptr;
  (last_ ? last_->next_of_call : first_) = &request;
  last_ = &request;
  ++size_;
}

void BatchCall::Cancel::operator()() const noexcept {
  // Copied first: the call, and with it this object, may be destroyed by its own cancellation.
  BatchCoreImpl& to = *core;
  to.cancel(*call);
}

BlockingBatchCall::~BlockingBatchCall() = default;

void BlockingBatchCall::wait() noexcept {
  std::unique_lock lock(mutex_);
  condition_.wait(lock, [this] { return answered_; });
}

void BlockingBatchCall::answered() noexcept {
  // Notified under the lock: the waiter destroys this as soon as it can have the lock.
  const std::lock_guard lock(mutex_);
  answered_ = true;
  condition_.notify_one();
}

BatchRunner::~BatchRunner() = default;

BatchCore::BatchCore(BatchRunnerFactory make_runner, BatchPolicy policy)
    : impl_(std::make_unique<BatchCoreImpl>(std::move(make_runner), std::move(policy))) {}

BatchCore::~BatchCore() = default;

void BatchCore::send(BatchCall& call, const RequestOptions& options) { impl_->send(call, options); }

void BatchCore::send_and_wait(BlockingBatchCall& call, const RequestOptions& options) {
  impl_->send_and_wait(call, options);
}

void BatchCore::close(bool cancel_queued) { impl_->close(cancel_queued); }

std::size_t BatchCore::workload() const noexcept { return impl_->workload(); }

}  // namespace vcap::detail
