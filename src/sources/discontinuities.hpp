// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "vcap/model/frame.hpp"

namespace vcap {

/// The reasons why a frame does not follow the last frame that was seen: its own, and those of
/// unseen frames in between. Thread safety: value.
class Discontinuities {
 public:
  void add(Discontinuity one) noexcept {
    if (one != Discontinuity::none) bits_ |= bit(one);
  }
  void add(Discontinuities others) noexcept { bits_ |= others.bits_; }
  bool empty() const noexcept { return bits_ == 0; }
  bool contains(Discontinuity one) const noexcept { return (bits_ & bit(one)) != 0; }

  /// The most important one, which records show.
  Discontinuity foremost() const noexcept { return foremost_besides({}); }
  /// The one to show to a capsule that keeps its state over the kinds in `kept`: one that is not in
  /// `kept`, if there is one.
  Discontinuity foremost_besides(std::span<const Discontinuity> kept) const noexcept {
    Discontinuity of_kept = Discontinuity::none;
    for (const Discontinuity one : kRank) {
      if (!contains(one)) continue;
      if (std::ranges::find(kept, one) == kept.end()) return one;
      if (of_kept == Discontinuity::none) of_kept = one;
    }
    return of_kept;
  }

  static constexpr std::array kRank{Discontinuity::start, Discontinuity::reconnect,
                                    Discontinuity::loop, Discontinuity::seek, Discontinuity::gap};

 private:
  static unsigned bit(Discontinuity one) noexcept { return 1u << static_cast<unsigned>(one); }

  unsigned bits_ = 0;
};

/// The discontinuities that a stateful capsule has not seen, because it was not called on their
/// frames. With bounded state, those further back than the warm-up are left out: the state does not
/// depend on them, and a slice that begins after them does not have them. Thread safety:
/// thread-compatible.
class OwedDiscontinuities {
 public:
  void add(Discontinuities some) noexcept {
    for (std::size_t i = 0; i < Discontinuities::kRank.size(); ++i)
      if (some.contains(Discontinuities::kRank[i])) last_[i] = frames_;
  }
  void add(Discontinuity one) noexcept {
    Discontinuities some;
    some.add(one);
    add(some);
  }
  /// Counts a frame that is not null, whether or not the capsule was called.
  void pass_frame() noexcept { ++frames_; }
  /// The discontinuities to report at the current frame.
  Discontinuities owed(std::optional<std::int64_t> warmup) const noexcept {
    Discontinuities found;
    for (std::size_t i = 0; i < last_.size(); ++i)
      if (last_[i] && (!warmup || frames_ - *last_[i] <= *warmup))
        found.add(Discontinuities::kRank[i]);
    return found;
  }
  void clear() noexcept { last_ = {}; }

 private:
  /// The frame count at the last discontinuity of each kind, in the order of kRank.
  std::array<std::optional<std::int64_t>, Discontinuities::kRank.size()> last_{};
  std::int64_t frames_ = 0;
};

}  // namespace vcap
