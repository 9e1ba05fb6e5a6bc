// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>

namespace vcap {

/// Finds which picture follows one that could not be decoded. A decoder reports damage in decoding
/// order, and not for which picture; pictures come out in the order of their times. So a missing
/// picture is known by the time of a packet whose picture never came out. Thread safety:
/// thread-compatible.
class DamageLog {
 public:
  /// A packet was sent to the decoder; its time is AV_NOPTS_VALUE if it has none.
  void went_in(std::int64_t time);
  /// The decoder, or the container's reader, found damage.
  void note() noexcept { noted_ = true; }
  /// A picture came out. Returns whether there was damage and a picture before it is missing. For a
  /// picture without a time: whether there was damage since the last one.
  bool came_out(std::int64_t time);

 private:
  std::set<std::int64_t> within_{};  ///< times of packets whose pictures have not come out
  bool noted_ = false;
  bool is_full_ = false;
};

}  // namespace vcap
