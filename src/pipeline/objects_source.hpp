// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "pipeline/replay_source.hpp"
#include "records/frame_objects.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Gives the frames of another source, and hands the objects of a file over as what the capsules
/// that stand in gave for them. Thread safety: as Source.
class ObjectsSource final : public Source {
 public:
  /// `is_recording`: whether the other source hands over what was recorded of its frames.
  ObjectsSource(std::unique_ptr<Source> source, FrameObjects objects,
                std::shared_ptr<ReplayFrames> frames, bool is_recording);
  ~ObjectsSource() override;

  SourceInfo info() const override { return source_->info(); }
  std::optional<Frame> read() override;
  BrokenPictures broken_pictures() const override { return source_->broken_pictures(); }
  void interrupt() noexcept override;
  std::optional<SourceState> state() const override { return source_->state(); }

 private:
  RecordedFrame recorded(const Frame& frame) const;

  const std::unique_ptr<Source> source_;
  FrameObjects objects_;
  const std::shared_ptr<ReplayFrames> frames_;
  const bool is_recording_;
  std::atomic<bool> interrupted_ = false;
  bool is_finished_ = false;
};

}  // namespace vcap
