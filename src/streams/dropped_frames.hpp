// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sources/discontinuities.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// Reasons of drops in records and reports.
inline constexpr const char* kDropClosed = "closed";
inline constexpr const char* kDropOverload = "overload";
inline constexpr const char* kDropSkipped = "skipped";
inline constexpr const char* kDropStreamFailed = "stream_failed";

/// What dropped frames pass on to the next frame: the drops that its record lists, and their
/// discontinuities. Thread safety: value.
struct DroppedFrames {
  /// The most drops that one record lists one by one; further ones are counted by reason. A stream
  /// may have no record for a long time.
  static constexpr std::size_t kMostListed = 1000;

  std::vector<FrameRecord::Drop> drops{};
  Discontinuities discontinuities{};

  void add(FrameRecord::Drop drop);
  void add(const DroppedFrames& later);
};

}  // namespace vcap
