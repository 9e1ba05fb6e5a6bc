// SPDX-License-Identifier: Apache-2.0
#include "streams/quarantine.hpp"

namespace vcap {

bool Quarantine::holds(std::chrono::nanoseconds pts) const noexcept {
  return since_ && pts >= *since_ && pts - *since_ < policy_.pause;
}

bool Quarantine::note(std::chrono::nanoseconds pts, bool failed) {
  // Frames that were in flight when the pause began give no new information.
  if (holds(pts)) return false;
  if (!failed) {
    since_.reset();
    return false;
  }
  failures_.push_back(pts);
  // If times have gone back, earlier failures may lie far ahead of this frame, outside the window.
  std::erase_if(failures_, [&](std::chrono::nanoseconds one) {
    return one <= pts - policy_.window || one > pts + policy_.window;
  });
  if (!since_ && failures_.size() < policy_.failures) return false;
  failures_.clear();
  since_ = pts;
  return true;
}

}  // namespace vcap
