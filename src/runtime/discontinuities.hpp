// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
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

  /// The one that says most, which records tell.
  Discontinuity foremost() const noexcept { return foremost_besides({}); }
  /// The one to show to a capsule that keeps its state over some: one over which it does not.
  Discontinuity foremost_besides(std::span<const Discontinuity> kept) const noexcept {
    Discontinuity of_kept = Discontinuity::none;
    for (const Discontinuity one : kRank) {
      if ((bits_ & bit(one)) == 0) continue;
      if (std::ranges::find(kept, one) == kept.end()) return one;
      if (of_kept == Discontinuity::none) of_kept = one;
    }
    return of_kept;
  }

 private:
  static constexpr std::array kRank{Discontinuity::start, Discontinuity::reconnect,
                                    Discontinuity::loop, Discontinuity::seek, Discontinuity::gap};
  static unsigned bit(Discontinuity one) noexcept { return 1u << static_cast<unsigned>(one); }

  unsigned bits_ = 0;
};

}  // namespace vcap
