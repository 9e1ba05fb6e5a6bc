// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "vcap/model/frame.hpp"

namespace vcap {

/// Why a frame does not follow the last one that was seen: by its own reason, and those of frames
/// between, which were not. Thread safety: value.
class Discontinuities {
 public:
  void add(Discontinuity one) noexcept {
    if (one != Discontinuity::none) bits_ |= bit(one);
  }
  void add(Discontinuities others) noexcept { bits_ |= others.bits_; }
  bool empty() const noexcept { return bits_ == 0; }
  bool contains(Discontinuity one) const noexcept { return (bits_ & bit(one)) != 0; }

  /// The one that says most, which records tell.
  Discontinuity foremost() const noexcept { return foremost_besides({}); }
  /// The one to show to a capsule that keeps its state over some: one over which it does not.
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

/// The discontinuities of which a stateful capsule does not know yet, since it was not called on
/// their frames. One of bounded state is not told of those that lie farther back than its warm-up,
/// on which it does not depend: a slice that begins behind them does not have them. Thread safety:
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
  /// A frame that is not null has passed, whether or not the capsule was called.
  void pass_frame() noexcept { ++frames_; }
  /// Those to tell of at the frame that comes now.
  Discontinuities owed(std::optional<std::int64_t> warmup) const noexcept {
    Discontinuities found;
    for (std::size_t i = 0; i < last_.size(); ++i)
      if (last_[i] && (!warmup || frames_ - *last_[i] <= *warmup))
        found.add(Discontinuities::kRank[i]);
    return found;
  }
  void clear() noexcept { last_ = {}; }

 private:
  /// How many frames had passed at the last one of each kind, in the order of the ranks.
  std::array<std::optional<std::int64_t>, Discontinuities::kRank.size()> last_{};
  std::int64_t frames_ = 0;
};

}  // namespace vcap
