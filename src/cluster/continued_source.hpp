// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/thread_annotations.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Ends a ContinuedSource that a stream owns. The source gives no more frames, but ends only after
/// the records of those that it gave: until then, the states of capsules can be saved. Thread
/// safety: thread-safe.
class SourceEnd {
 public:
  /// The stream is to end.
  void request() VCAP_EXCLUDES(mutex_);
  /// `save` is called when all records have passed, before the source ends. Call before the stream
  /// begins. [source thread]
  void set_save(std::function<void()> save) { save_ = std::move(save); }
  /// The record of the frame has passed.
  void passed(std::int64_t frame_index) VCAP_EXCLUDES(mutex_);

 private:
  friend class ContinuedSource;

  std::function<void()> save_;
  Mutex mutex_;  ///< held while the source is interrupted
  CondVar changed_;
  Source* source_ VCAP_GUARDED_BY(mutex_) = nullptr;
  bool requested_ VCAP_GUARDED_BY(mutex_) = false;
  bool interrupted_ VCAP_GUARDED_BY(mutex_) = false;
  std::int64_t last_given_ VCAP_GUARDED_BY(mutex_) = -1;
  std::int64_t last_passed_ VCAP_GUARDED_BY(mutex_) = -1;
};

/// A source that continues a stream of another process: its frames are counted on from there, and
/// the first one has Discontinuity::reconnect. Thread safety: as Source.
class ContinuedSource final : public Source {
 public:
  struct Begin {
    std::int64_t frame_index = 0;
    std::chrono::nanoseconds pts{0};
    bool is_first = true;         ///< no other process had the stream: its first frame has `start`
    std::int64_t keep_every = 1;  ///< StreamConfig::keep_every: other frames have no records
  };

  ContinuedSource(std::unique_ptr<Source> source, Begin begin, std::shared_ptr<SourceEnd> end);
  ~ContinuedSource() override;

  SourceInfo info() const override { return source_->info(); }
  std::optional<Frame> read() override;
  BrokenPictures broken_pictures() const override { return source_->broken_pictures(); }
  void interrupt() noexcept override;
  std::optional<SourceState> state() const override { return source_->state(); }

 private:
  bool is_ending() const;
  void await_records() const;

  const std::unique_ptr<Source> source_;
  const Begin begin_;
  const std::shared_ptr<SourceEnd> end_;
  std::int64_t given_ = 0;  ///< frames
  bool has_ended_ = false;
};

}  // namespace vcap
