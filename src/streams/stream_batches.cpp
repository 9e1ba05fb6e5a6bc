// SPDX-License-Identifier: Apache-2.0
// How frames wait for each other, so that a capsule gets them in one call (FrameBatches, BatchRun).
#include <algorithm>
#include <iterator>
#include <utility>

#include "streams/stream.hpp"

namespace vcap {

/// Adds the frame to those that wait, and runs a batch if one may begin.
std::unique_ptr<FrameJob> Stream::gather(std::unique_ptr<FrameJob> job) {
  job->left_out = is_passed_by(*job);
  if (job->left_out) {
    begin_options(*job);
    leave_step(*job);
    return job;
  }
  BatchTurn turn{.route = job->route, .step = job->step};
  {
    const MutexLock lock(mutex_, kAdaptive);
    FrameBatches& batches = turn.route->stops[turn.step].lane->batches;
    batches.add(std::move(job));
    if (!batches.begin_call()) return nullptr;
  }
  return begin_batch(std::move(turn));
}

/// Runs a call that has begun, as soon as it has a place.
std::unique_ptr<FrameJob> Stream::begin_batch(BatchTurn turn) {
  return get_place(turn) ? run_batch(turn) : nullptr;
}

/// Calls the capsule for the frames of a batch, if there are any. If that fails, it is then called
/// for each frame by itself, which shows the frame at fault and its error.
std::unique_ptr<FrameJob> Stream::run_batch(const BatchTurn& turn) {
  FrameBatches::Batch batch = take_batch(turn);
  CapsuleSlot& slot = *(*turn.route->compiled_plan)[turn.step].slot;
  bool done = false;
  // Another batch may just have shown that the backend lacks process_frames().
  const bool together = batch.size() > 1 && slot.has_process_frames;
  if (together) {
    const std::int64_t index = batch.front()->record.frame.index;
    const auto run = std::make_shared<BatchRun>(std::move(batch), id_);
    watch(run);
    BatchRun::Outcome outcome = run->run();
    if (outcome.too_late) note_return(turn.route->stops[turn.step], slot, id_, index);
    // If the call was given up, it has been ended, and its place given back.
    if (outcome.jobs.empty()) return nullptr;
    batch = std::move(outcome.jobs);
    done = outcome.done;
  }
  for (const std::unique_ptr<FrameJob>& one : batch) {
    one->alone = !done;
    if (done) leave_step(*one);
  }
  // A frame by itself keeps the call and the place. After a call that failed, the first frame only
  // keeps the place.
  const bool keeps_call = !together && batch.size() == 1;
  const bool keeps_place = turn.has_place && !done && !batch.empty();
  if (keeps_call) batch.front()->holds_call = true;
  if (keeps_place) batch.front()->holds_place = true;
  std::unique_ptr<FrameJob> first = go_on_with(std::move(batch), keeps_call ? nullptr : &turn);
  if (turn.has_place && !keeps_place) slot.places.leave();
  return first;
}

/// The frames of a call that has begun. Those for which the capsule is left out meanwhile go on
/// without it.
FrameBatches::Batch Stream::take_batch(const BatchTurn& turn) {
  FrameBatches::Batch batch;
  {
    const MutexLock lock(mutex_, kAdaptive);
    batch = turn.route->stops[turn.step].lane->batches.take(
        [this](const FrameJob& job) VCAP_REQUIRES(mutex_) { return changes_.route_of(job); });
    for (const std::unique_ptr<FrameJob>& job : batch) changes_.begin(*job);
  }
  const auto left_out = std::stable_partition(batch.begin(), batch.end(),
                                              [this](const std::unique_ptr<FrameJob>& job) {
                                                job->left_out = is_passed_by(*job);
                                                return !job->left_out;
                                              });
  if (left_out == batch.end()) return batch;
  ReadyJobs passed(std::make_move_iterator(left_out), std::make_move_iterator(batch.end()));
  batch.erase(left_out, batch.end());
  for (const std::unique_ptr<FrameJob>& job : passed) leave_step(*job);
  std::size_t posts = 0;
  {
    const MutexLock lock(mutex_, kAdaptive);
    posts = add_work(std::move(passed));
  }
  post(posts);
  return batch;
}

/// Returns the first frame, and posts the others. Null if there is none. `ended`: a call of
/// FrameBatches that has ended, or null.
std::unique_ptr<FrameJob> Stream::go_on_with(ReadyJobs ready, const BatchTurn* ended) {
  std::unique_ptr<FrameJob> first;
  if (!ready.empty()) {
    first = std::move(ready.front());
    ready.erase(ready.begin());
  }
  if (ready.empty() && ended == nullptr) return first;
  std::size_t posts = 0;
  {
    const MutexLock lock(mutex_, kAdaptive);
    posts = add_work(std::move(ready));
    if (ended != nullptr) posts += end_batch_call(ended->route, ended->step);
  }
  post(posts);
  return first;
}

/// Returns the number of pieces to post once the lock is released.
std::size_t Stream::end_batch_call(const std::shared_ptr<const Route>& route, std::size_t step) {
  if (!route->stops[step].lane->batches.end_call()) return 0;
  work_.emplace_back(BatchTurn{.route = route, .step = step});
  return 1;
}

}  // namespace vcap
