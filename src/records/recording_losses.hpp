// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/thread_annotations.hpp"
#include "records/recording_line.hpp"
#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// What a recording has lost before a frame, with what the lost records said besides their nodes.
/// Thread safety: value.
struct LostBefore {
  std::vector<LostFrames> frames{};
  std::vector<Discontinuity> discontinuities{};
  std::vector<FrameRecord::Drop> drops{};
  std::vector<FrameRecord::OptionChange> option_changes{};
  std::vector<FrameRecord::Replacement> replacements{};
  std::vector<FrameRecord::ConfigChange> config_changes{};
};

/// Which frames of a stream a recording has lost on the way to its file. Frames are expected in the
/// order of the stream, and some of them arrive, in the same order. Thread safety: thread-safe.
class VCAP_EXPORT RecordingLosses {
 public:
  /// The stream has a record of a frame, which should arrive.
  void expect(const FrameRecord& record);
  /// The frame has arrived. Returns what was lost since the last one that was written.
  LostBefore arrive(std::int64_t frame_index);
  /// The frame that arrived last could not be written, and neither could what arrive() returned.
  void fail(const FrameRecord& record, LostBefore before);

 private:
  struct Expected {
    std::int64_t frame_index;
    LostBefore if_lost;
  };

  Mutex mutex_;
  std::deque<Expected> expected_ VCAP_GUARDED_BY(mutex_);
  LostBefore unwritten_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
