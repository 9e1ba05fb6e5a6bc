// SPDX-License-Identifier: Apache-2.0
#include "streams/dropped_frames.hpp"

#include <algorithm>
#include <utility>

namespace vcap {

void DroppedFrames::add(FrameRecord::Drop drop) {
  if (drops.size() >= kMostListed) {
    const auto same =
        std::find_if(drops.rbegin(), drops.rend(),
                     [&drop](const FrameRecord::Drop& one) { return one.reason == drop.reason; });
    if (same != drops.rend()) {
      same->count += drop.count;
      return;
    }
  }
  drops.push_back(std::move(drop));
}

void DroppedFrames::add(const DroppedFrames& later) {
  for (const FrameRecord::Drop& drop : later.drops) add(drop);
  discontinuities.add(later.discontinuities);
}

}  // namespace vcap
