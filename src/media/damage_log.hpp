// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace vcap {

/// Pictures that a decoder did not give because of damage. Thread safety: value.
struct MissingPictures {
  static constexpr std::size_t kMostListed = 5;

  std::int64_t count = 0;
  /// The times of the first ones in the stream's time base; those without a time are left out.
  std::vector<std::int64_t> first{};

  void add(std::int64_t time);
  void add(const MissingPictures& later);
};

/// Finds which pictures could not be decoded, and which picture follows one of them. A decoder
/// reports damage in decoding order, and not for which picture; pictures come out in the order of
/// their times. So a missing picture is known by the time of a packet whose picture never came out.
/// Thread safety: thread-compatible.
class DamageLog {
 public:
  /// A packet was sent to the decoder; its time is AV_NOPTS_VALUE if it has none.
  void went_in(std::int64_t time);
  /// The decoder, or the container's reader, found damage. A decoder reports each picture once.
  void note() noexcept { ++notes_; }
  /// A picture came out. Returns whether there was damage and a picture before it is missing. For a
  /// picture without a time: whether there was damage since the last one.
  bool came_out(std::int64_t time);
  /// No further picture comes out: those that have not come out are missing, if there was damage.
  void end();
  /// What is missing since the last call.
  MissingPictures take_missing() { return std::exchange(missing_, {}); }

 private:
  bool settle(const MissingPictures& found);

  std::set<std::int64_t> within_{};  ///< times of packets whose pictures have not come out
  MissingPictures overdue_{};        ///< packets before those in within_
  MissingPictures missing_{};
  std::int64_t notes_ = 0;    ///< reports of damage without a known missing picture
  bool is_timeless_ = false;  ///< the last picture had no time
};

}  // namespace vcap
