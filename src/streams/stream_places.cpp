// SPDX-License-Identifier: Apache-2.0
// How frames and batches get places for calls of a capsule (CallPlaces), or wait for them.
#include <utility>

#include "streams/stream.hpp"

namespace vcap {

void ParkedCalls::go_on() {
  // What is parked has not been delivered, so its stream has not ended.
  if (const std::shared_ptr<Stream> whose = stream.lock()) whose->go_on(*this);
}

/// Whether the frame may be in a call now; if not, park() must follow.
bool Stream::take_place(FrameJob& job) {
  SharedCallPlaces& places = job.compiled_step().slot->places;
  if (job.holds_place || !places.is_bounded()) return true;
  return job.holds_place = places.try_take();
}

/// Parks the frame until it has its place; null then. Returns it if a place came free meanwhile.
std::unique_ptr<FrameJob> Stream::park(std::unique_ptr<FrameJob> job) {
  const std::shared_ptr<const Route> route = job->route;  // released after the lock
  const std::size_t step = job->step;
  const std::shared_ptr<ParkedCalls>& parked = route->stops[step].parked;
  // With the lock over both: go_on() then finds what it is called for.
  const MutexLock lock(mutex_, kAdaptive);
  if ((*route->compiled_plan)[step].slot->places.wait(parked)) {
    job->holds_place = true;
    return job;
  }
  parked->jobs.add(std::move(job));
  return nullptr;
}

/// Whether the call may be made now. If not, it is parked until it may.
bool Stream::get_place(BatchTurn& turn) {
  const std::shared_ptr<const Route> route = turn.route;  // released after the lock
  SharedCallPlaces& places = (*route->compiled_plan)[turn.step].slot->places;
  if (!places.is_bounded()) return true;
  if (places.try_take()) return turn.has_place = true;
  const std::shared_ptr<ParkedCalls>& parked = route->stops[turn.step].parked;
  const MutexLock lock(mutex_, kAdaptive);
  if (places.wait(parked)) return turn.has_place = true;
  parked->turns.push_back(std::move(turn));
  return false;
}

void Stream::go_on(ParkedCalls& parked) {
  {
    const MutexLock lock(mutex_, kAdaptive);
    // A frame by itself comes first: it may be one of a batch that failed, and others wait for it.
    if (!parked.jobs.empty()) {
      std::unique_ptr<FrameJob> job = parked.jobs.take_first();
      job->holds_place = true;
      work_.emplace_back(std::move(job));
    } else {
      parked.turns.front().has_place = true;
      work_.emplace_back(std::move(parked.turns.front()));
      parked.turns.erase(parked.turns.begin());
    }
  }
  post(1);
}

}  // namespace vcap
