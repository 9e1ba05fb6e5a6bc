// SPDX-License-Identifier: Apache-2.0
#include "cluster/continued_source.hpp"

#include <chrono>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// How long the last records may take. Later, the states are lost.
constexpr std::chrono::milliseconds kRecordWait{700};

}  // namespace

void SourceEnd::request() {
  const MutexLock lock(mutex_);
  requested_ = true;
  if (source_) source_->interrupt();
}

void SourceEnd::passed(std::int64_t frame_index) {
  const MutexLock lock(mutex_);
  last_passed_ = frame_index;
  changed_.notify_all();
}

ContinuedSource::ContinuedSource(std::unique_ptr<Source> source, Begin begin,
                                 std::shared_ptr<SourceEnd> end)
    : source_(std::move(source)), begin_(begin), end_(std::move(end)) {
  const MutexLock lock(end_->mutex_);
  end_->source_ = source_.get();
  if (end_->requested_) source_->interrupt();
}

ContinuedSource::~ContinuedSource() {
  const MutexLock lock(end_->mutex_);
  end_->source_ = nullptr;
}

bool ContinuedSource::is_ending() const {
  const MutexLock lock(end_->mutex_);
  return end_->requested_;
}

void ContinuedSource::await_records() const {
  const MutexLock lock(end_->mutex_);
  end_->changed_.wait_for(end_->mutex_, kRecordWait, [this]() VCAP_REQUIRES(end_->mutex_) {
    return end_->interrupted_ || end_->last_passed_ >= end_->last_given_;
  });
}

void ContinuedSource::interrupt() noexcept {
  {
    const MutexLock lock(end_->mutex_);
    end_->interrupted_ = true;
    end_->changed_.notify_all();
  }
  source_->interrupt();
}

std::optional<Frame> ContinuedSource::read() {
  std::optional<Frame> frame;
  if (!is_ending()) {
    try {
      frame = source_->read();
    } catch (const SourceError&) {  // an interrupted source may say so
      if (!is_ending()) throw;
    }
  }
  if (is_ending()) {
    await_records();
    if (!std::exchange(has_ended_, true) && end_->save_) end_->save_();
    return std::nullopt;
  }
  if (!frame) return frame;
  frame->index += begin_.frame_index;
  frame->pts += begin_.pts;
  if (given_ == 0 && !begin_.is_first) frame->discontinuity = Discontinuity::reconnect;
  if (given_++ % begin_.keep_every == 0) {
    const MutexLock lock(end_->mutex_);
    end_->last_given_ = frame->index;
  }
  return frame;
}

}  // namespace vcap
