// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "media/av_input.hpp"

namespace vcap {

/// The times at which a stored video's pictures are shown, and which are keyframes. Thread safety:
/// value.
class VideoIndex {
 public:
  /// Reads all packets of a newly opened input, without decoding. Null if it is not certain that
  /// decoding from the beginning gives one picture per packet, in the order of their times.
  static std::shared_ptr<const VideoIndex> of(AvInput& input);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(times_.size()); }
  std::chrono::nanoseconds time(std::int64_t number) const {
    return times_[static_cast<std::size_t>(number)];
  }
  /// The last keyframe that is not shown after that picture.
  std::int64_t key_before(std::int64_t number) const;

 private:
  std::vector<std::chrono::nanoseconds> times_;  ///< ascending
  std::vector<std::int64_t> keys_;               ///< ascending; the first is 0
};

}  // namespace vcap
