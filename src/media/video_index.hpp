// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "media/ascending_numbers.hpp"
#include "media/av_input.hpp"

namespace vcap {

/// The times at which a stored video's pictures are shown, and which are keyframes. Its memory
/// hardly depends on the video's length if the frame rate is constant. Thread safety: value.
class VideoIndex {
 public:
  class Builder;

  /// Reads all packets of a newly opened input, without decoding. Null if it is not certain that
  /// decoding from the beginning gives one picture per packet, in the order of their times.
  static std::shared_ptr<const VideoIndex> of(AvInput& input);

  std::int64_t size() const noexcept { return ticks_.size(); }
  std::chrono::nanoseconds time(std::int64_t number) const {
    return to_nanoseconds(ticks_.at(number), time_base_);
  }
  /// The last keyframe that is not shown after that picture.
  std::int64_t key_before(std::int64_t number) const {
    return keys_.at(keys_.count_to(number) - 1);
  }
  /// For restore(). Empty if its times are finer than a nanosecond.
  std::string save() const;
  /// From untrusted bytes. Null if they are not an index of a video with this time base.
  static std::shared_ptr<const VideoIndex> restore(std::string_view saved, AVRational time_base);
  /// Bytes of memory beside this object.
  std::size_t bytes() const noexcept { return ticks_.bytes() + keys_.bytes(); }

 private:
  AVRational time_base_{1, 1};
  AscendingNumbers ticks_;  ///< times from the stream's start, in its time base
  AscendingNumbers keys_;   ///< the first is 0
};

/// Makes an index from pictures in decoding order. A few of them wait until it is certain which one
/// is shown next. If a picture is shown earlier than one that did not wait any more, all pictures
/// are kept and sorted at the end. Thread safety: thread-compatible.
class VideoIndex::Builder {
 public:
  /// More than any codec lets pictures wait.
  static constexpr std::size_t kWaiting = 128;

  explicit Builder(AVRational time_base) { index_->time_base_ = time_base; }

  /// `ticks`: its time from the stream's start.
  void add(std::int64_t ticks, bool is_key);
  /// Null if there is no picture, if two have the same time, or if the first one in decoding order
  /// is not a keyframe, not the first one that is shown, or before the start. Call once.
  std::shared_ptr<const VideoIndex> finish();

 private:
  struct Picture {
    std::int64_t ticks = 0;
    bool is_key = false;
  };

  void append(const Picture& picture);
  void append_next();
  void keep_all();

  std::shared_ptr<VideoIndex> index_ = std::make_shared<VideoIndex>();
  std::optional<Picture> first_{};  ///< in decoding order
  bool has_twins_ = false;          ///< two pictures have the same time
  bool keeps_all_ = false;
  std::vector<Picture>
      waiting_{};  ///< a heap, the earliest one first; with keeps_all_: all, as added
};

}  // namespace vcap
