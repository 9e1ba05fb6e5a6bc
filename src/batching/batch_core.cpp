// SPDX-License-Identifier: Apache-2.0
#include "vcap/batching/detail/batch_core.hpp"

#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "batching/batch_core_impl.hpp"

namespace vcap::detail {
BatchCall::~BatchCall() = default;

void BatchCall::add(BatchChunk& chunk, std::size_t count, std::uint64_t key) noexcept {
  chunk.call = this;
  chunk.next = chunk.end = size_;
  chunk.limit = size_ += count;
  chunk.key = key;
  (last_ ? last_->next_of_call : first_) = &chunk;
  last_ = &chunk;
}

// Subtracts answered items; keeps the error of the failed item with the lowest index.
void BatchCall::settle(std::size_t items, std::exception_ptr why,
                       std::size_t first_failed) noexcept {
  pending_ -= items;
  if (!why || (error_ && failed_ < first_failed)) return;
  error_ = std::move(why);
  failed_ = first_failed;
}

void BatchCall::Cancel::operator()() const noexcept {
  // Copied first: the cancellation may destroy the call, and this object with it.
  BatchCoreImpl& to = *core;
  to.cancel(*call);
}

void* FutureMemory::allocate(std::size_t size, std::size_t alignment) {
  void* piece = space_.data() + used_;
  std::size_t left = space_.size() - used_;
  if (std::align(alignment, size, piece, left))
    used_ = space_.size() - left + size;
  else
    piece = ::operator new(size, std::align_val_t(alignment));
  users_.fetch_add(1, std::memory_order_relaxed);
  return piece;
}

bool FutureMemory::deallocate(void* piece, std::size_t alignment) noexcept {
  const auto* byte = static_cast<const std::byte*>(piece);
  const std::less<const std::byte*> before;
  if (before(byte, space_.data()) || !before(byte, space_.data() + space_.size()))
    ::operator delete(piece, std::align_val_t(alignment));
  return release();
}

bool FutureMemory::release() noexcept {
  return users_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

BatchRunner::~BatchRunner() = default;

BatchCore::BatchCore(BatchRunnerFactory make_runner, BatchPolicy policy)
    : impl_(std::make_unique<BatchCoreImpl>(std::move(make_runner), std::move(policy))) {}

BatchCore::~BatchCore() = default;

void BatchCore::send(BatchCall& call, const RequestOptions& options) {
  impl_->send(call, options, false);
}

void BatchCore::send_if_room(BatchCall& call, const RequestOptions& options) {
  impl_->send(call, options, true);
}

bool BatchCore::has_room_for_one() noexcept { return impl_->has_room_for_one(); }

void BatchCore::send_and_wait(BatchCall& call, const RequestOptions& options) {
  impl_->send_and_wait(call, options);
}

void BatchCore::set_batch_sizes(const BatchSizes& sizes) { impl_->set_batch_sizes(sizes); }

void BatchCore::close(bool cancel_queued) { impl_->close(cancel_queued); }

std::size_t BatchCore::workload() const noexcept { return impl_->workload(); }

BatchStatistics BatchCore::statistics() const { return impl_->statistics(); }

}  // namespace vcap::detail
