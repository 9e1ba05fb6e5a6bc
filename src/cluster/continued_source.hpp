// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/thread_annotations.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Ends a ContinuedSource that a stream owns. Thread safety: thread-safe.
class SourceEnd {
 public:
  /// Its stream ends after the frames that it has.
  void request() VCAP_EXCLUDES(mutex_);

 private:
  friend class ContinuedSource;

  Mutex mutex_;  ///< held while the source is interrupted
  Source* source_ VCAP_GUARDED_BY(mutex_) = nullptr;
  bool requested_ VCAP_GUARDED_BY(mutex_) = false;
};

/// A source that continues a stream of another process: its frames are counted on from there, and
/// the first one has Discontinuity::reconnect. Thread safety: as Source.
class ContinuedSource final : public Source {
 public:
  struct Begin {
    std::int64_t frame_index = 0;
    std::chrono::nanoseconds pts{0};
    bool is_first = true;  ///< no other process had the stream: its first frame has `start`
  };

  ContinuedSource(std::unique_ptr<Source> source, Begin begin, std::shared_ptr<SourceEnd> end);
  ~ContinuedSource() override;

  SourceInfo info() const override { return source_->info(); }
  std::optional<Frame> read() override;
  BrokenPictures broken_pictures() const override { return source_->broken_pictures(); }
  void interrupt() noexcept override { source_->interrupt(); }
  std::optional<SourceState> state() const override { return source_->state(); }

 private:
  bool is_ending() const;

  const std::unique_ptr<Source> source_;
  const Begin begin_;
  const std::shared_ptr<SourceEnd> end_;
  bool has_begun_ = false;
};

}  // namespace vcap
