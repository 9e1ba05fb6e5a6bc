// SPDX-License-Identifier: Apache-2.0
#include "pipeline/objects_source.hpp"

#include <utility>

namespace vcap {

ObjectsSource::ObjectsSource(std::unique_ptr<Source> source, FrameObjects objects,
                             std::shared_ptr<ReplayFrames> frames, bool is_recording)
    : source_(std::move(source)),
      objects_(std::move(objects)),
      frames_(std::move(frames)),
      is_recording_(is_recording) {}

ObjectsSource::~ObjectsSource() {
  if (!is_finished_) objects_.note_if_unused();
}

std::optional<Frame> ObjectsSource::read() {
  std::optional<Frame> frame = source_->read();
  if (!frame) {
    if (!interrupted_ && !std::exchange(is_finished_, true))
      objects_.finish([this] { return interrupted_.load(); });
    return std::nullopt;
  }
  RecordedFrame now = recorded(*frame);
  now.objects = objects_.of(*frame);
  frames_->set(frame->index, std::move(now));
  return frame;
}

/// What is known of the frame but the results of the capsules that stand in, which do not count.
RecordedFrame ObjectsSource::recorded(const Frame& frame) const {
  if (!is_recording_) return {};
  RecordedFrame recorded = *frames_->at(frame.index);
  const auto stands_in = [this](const auto& change) { return frames_->stands_in(change.capsule); };
  std::erase_if(recorded.option_changes, stands_in);
  std::erase_if(recorded.config_changes, stands_in);
  std::erase_if(recorded.replacements, stands_in);
  recorded.errors.clear();
  recorded.warnings.clear();
  recorded.pictures.clear();
  return recorded;
}

void ObjectsSource::interrupt() noexcept {
  interrupted_ = true;
  source_->interrupt();
}

}  // namespace vcap
