// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/thread_annotations.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Backpressure on a slice's reader: it waits while too many of its records wait. Thread safety:
/// thread-safe.
class SliceGate {
 public:
  explicit SliceGate(std::size_t room) : room_(room) {}

  void wait() {
    MutexLock lock(mutex_);
    changed_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return waiting_ < room_ || open_; });
  }
  void add() {
    const MutexLock lock(mutex_);
    ++waiting_;
  }
  void take() {
    const MutexLock lock(mutex_);
    if (--waiting_ < room_) changed_.notify_all();
  }
  /// Opens the gate permanently.
  void open() noexcept {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  const std::size_t room_;
  Mutex mutex_;
  CondVar changed_;
  std::size_t waiting_ VCAP_GUARDED_BY(mutex_) = 0;
  bool open_ VCAP_GUARDED_BY(mutex_) = false;
};

/// A slice's frames, as its stream sees them. If it begins a group, indexes count from there.
class SliceSource final : public Source {
 public:
  SliceSource(std::unique_ptr<Source> frames, std::shared_ptr<SliceGate> gate,
              std::optional<std::int64_t> group_begin)
      : frames_(std::move(frames)), gate_(std::move(gate)), group_begin_(group_begin) {}

  SourceInfo info() const override { return frames_->info(); }
  std::optional<Frame> read() override {
    gate_->wait();
    std::optional<Frame> frame = frames_->read();
    if (!frame || !group_begin_) return frame;
    frame->index -= *group_begin_;
    if (frame->index == 0) frame->discontinuity = Discontinuity::start;
    return frame;
  }
  BrokenPictures broken_pictures() const override { return frames_->broken_pictures(); }
  void interrupt() noexcept override {
    frames_->interrupt();
    gate_->open();
  }

 private:
  const std::unique_ptr<Source> frames_;
  const std::shared_ptr<SliceGate> gate_;
  const std::optional<std::int64_t> group_begin_;
};

}  // namespace vcap
