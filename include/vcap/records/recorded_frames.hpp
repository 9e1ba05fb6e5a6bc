// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// What is known of a frame that has run before, besides its picture. Thread safety: value.
struct RecordedFrame {
  /// Those of the frame and of the frames dropped before it.
  std::vector<Discontinuity> discontinuities{};
  std::vector<FrameRecord::Drop> drops{};
  /// They hold from this frame on.
  std::vector<FrameRecord::OptionChange> option_changes{};
  /// Of capsules that stand in; the record lists them.
  std::vector<FrameRecord::Replacement> replacements{};
  /// They hold from this frame on; those of capsules that stand in are only listed.
  std::vector<FrameRecord::ConfigChange> config_changes{};
  // What the record held after the last capsule that stands in.
  std::vector<DetectionNode> objects{};
  std::vector<FrameRecord::CapsuleError> errors{};
  std::vector<FrameRecord::CapsuleError> warnings{};
  std::vector<FrameRecord::Picture> pictures{};  ///< without pixels
};

/// The frames of one stream that run once more (StreamConfig::recorded), and the capsules whose
/// results they have. Thread safety: at() is called by the source thread, the rest is thread-safe.
class VCAP_EXPORT RecordedFrames {
 public:
  RecordedFrames() = default;
  RecordedFrames(const RecordedFrames&) = delete;
  RecordedFrames& operator=(const RecordedFrames&) = delete;
  virtual ~RecordedFrames();

  /// Whether the recorded results of the capsule of that name are used, and it is not called.
  virtual bool stands_in(const std::string& capsule) const = 0;
  /// The frame of that index, which the source gave last; never null. What it throws ends the
  /// stream. [source thread]
  virtual std::shared_ptr<const RecordedFrame> at(std::int64_t index) = 0;
};

}  // namespace vcap
