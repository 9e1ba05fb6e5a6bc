// SPDX-License-Identifier: Apache-2.0
// How completed frames become records, in order. Frame workers run this, or threads that pull.
#include <algorithm>
#include <utility>

#include "streams/stream.hpp"

namespace vcap {
namespace {

/// Somewhat more than the cost of waking a worker. It is not worth waking one for a shorter time.
constexpr std::chrono::microseconds kQuick{100};

}  // namespace

void Stream::complete(std::unique_ptr<FrameJob> job) {
  std::unique_ptr<FrameJob> ready;
  std::size_t posts = 0;
  bool is_quick = false;
  {
    const MutexLock lock(mutex_, kAdaptive);
    if (job->inside_gate) posts = leave_gate(*job, job->route->stops[job->step - 1]);
    records_.add(std::move(job));
    if (rules_.pull && !discarding_) {
      if (records_.has_next()) pulled_.notify_one();
    } else {
      // If another thread delivers, it finds this frame when it is done.
      ready = begin_delivery();
    }
    is_quick = rules_.pull || slowest_delivery_ < kQuick;
  }
  // This worker has only to deliver before it returns to the pool.
  if (is_quick && posts > 0)
    services_.pool.post_before_return(shared_from_this());
  else
    post(posts);
  deliver_all(std::move(ready));
}

/// The next frame in order, if it is complete and no other is being delivered. Its record lists the
/// changes that begin with it.
std::unique_ptr<FrameJob> Stream::begin_delivery() {
  std::unique_ptr<FrameJob> job = records_.begin_delivery();
  if (!job) return job;
  if (changes_.has_unlisted()) changes_.list(job->record);
  changes_.forget_up_to(job->record.frame.index);
  return job;
}

/// Delivers a frame of begin_delivery(), and those that are complete after it.
void Stream::deliver_all(std::unique_ptr<FrameJob> job) {
  while (job) job = deliver(std::move(job)).following;
}

std::optional<FrameRecord> Stream::next() {
  for (;;) {
    std::unique_ptr<FrameJob> job;
    {
      MutexLock lock(mutex_);
      pulled_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) {
        return account_.has_ended() || records_.has_next();
      });
      if (account_.has_ended()) return {};
      job = begin_delivery();
    }
    if (auto record = pull(std::move(job))) return record;
  }
}

std::optional<FrameRecord> Stream::try_next() {
  std::unique_ptr<FrameJob> job;
  {
    const MutexLock lock(mutex_);
    job = begin_delivery();
  }
  if (!job) return {};
  return pull(std::move(job));
}

/// `nullopt` if the record was dropped.
std::optional<FrameRecord> Stream::pull(std::unique_ptr<FrameJob> job) {
  Delivered delivered = deliver(std::move(job));
  deliver_all(std::move(delivered.following));
  return std::move(delivered.record);
}

bool Stream::is_warm_up(const Frame& frame) const {
  return rules_.slice && !rules_.slice->results.contains(frame.index);
}

void Stream::write(FrameJob& job) {
  if (is_warm_up(job.record.frame)) return;
  for (const std::shared_ptr<Sink>& sink : sinks_) sink->write(job.record);
  if (rules_.hand_over) rules_.hand_over(std::move(job.record), job.read_at);
}

/// Writes the record, or counts the frame as dropped. Called without the lock, by one thread at a
/// time (ReorderBuffer).
Stream::Delivered Stream::deliver(std::unique_ptr<FrameJob> job) {
  const auto begin = std::chrono::steady_clock::now();
  const bool has_errors = !job->record.errors.empty();
  const std::int64_t index = job->record.frame.index;
  const Discontinuity discontinuity = job->record.frame.discontinuity;
  const auto read_at = job->read_at;
  const std::uint64_t trace_frame = job->trace_frame;
  const char* dropped = discarding_ ? kDropClosed : abandoned_ ? kDropStreamFailed : nullptr;
  StreamFailure failure;
  Intake::Dropped refused;
  Delivered delivered;
  if (!dropped) {
    try {
      write(*job);
      if (rules_.pull) delivered.record = std::move(job->record);
    } catch (...) {
      failure = StreamFailure(std::current_exception());
      dropped = kDropStreamFailed;
      abandoned_ = true;
    }
  }
  job.reset();  // frees the pixels before the frame's room is given away
  // Before another thread can begin the next delivery: slices of a lane do not overlap.
  if (trace_ && !dropped) trace_->recorded(begin, index, trace_frame);
  const auto now = std::chrono::steady_clock::now();
  std::size_t posts = 0;
  bool is_first_failure = false;
  bool over = false;
  bool wakes_source = false;
  {
    const MutexLock lock(mutex_, kAdaptive);
    if (failure) {
      is_first_failure = account_.fail(failure);
      intake_.fail(refused);
      if (intake_.is_exhausted()) posts += add_work(windows_.end());
    }
    if (dropped) {
      intake_.drop_begun(index, discontinuity, dropped);
    } else {
      account_.add_record(has_errors, read_at, now);
      slowest_delivery_ = std::max(now - begin, slowest_delivery_ - slowest_delivery_ / 4);
    }
    records_.end_delivery();
    intake_.end();
    wakes_source = intake_.has_room_for(rules_.resume_threshold);
    // With `drop_oldest`, a frame may wait for this room: when it was posted, there was none.
    if (rules_.overflow == OverflowPolicy::drop_oldest && !intake_.is_empty()) ++posts;
    if (!rules_.pull || discarding_)
      delivered.following = begin_delivery();
    else if (records_.has_next())
      pulled_.notify_one();
    over = begins_finishing();
  }
  if (wakes_source) room_.notify_one();  // without the lock, which the source would wait for
  post(posts);
  if (is_first_failure) log_failure(failure);
  if (failure) stop();
  if (over) finish();
  return delivered;
}

}  // namespace vcap
