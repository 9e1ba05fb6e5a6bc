// SPDX-License-Identifier: Apache-2.0
#include "jobs/bulk_run.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/cores.hpp"
#include "base/steady_clock.hpp"
#include "base/text.hpp"
#include "jobs/prepared_job.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

std::size_t workers_of(const Job& job) {
  if (job.parallel > 0) return static_cast<std::size_t>(job.parallel);
  return cores();
}

std::string task_of(const std::string& video, std::size_t slice) {
  return video + "/" + std::to_string(slice);
}

}  // namespace

BulkRun::BulkRun(const Job& job, std::vector<std::shared_ptr<Capsule>> capsules, JobFolder& folder,
                 JobSettings settings)
    : job_(job),
      folder_(folder),
      capsules_(std::move(capsules)),
      settings_(std::move(settings)),
      workers_(workers_of(job)),
      clock_(settings_.clock ? settings_.clock : std::make_shared<detail::SteadyClock>()),
      queue_(settings_.queue ? settings_.queue : make_in_process_queue({job.attempts, clock_})),
      work_(job_, capsules_, folder_,
            {.clock = clock_,
             .workers = workers_,
             .videos = job_.videos.size(),
             .capsule_deadline = settings_.capsule_deadline,
             .first_call_deadline = settings_.first_call_deadline,
             .on_record = settings_.on_record}),
      renewer_(*queue_, *clock_, settings_.lease) {
  for (const Job::Video& video : job_.videos) by_id_.emplace(video.id, &video);
}

JobReport BulkRun::run(const std::stop_token& stop) {
  if (settings_.on_resume) settings_.on_resume(stored_before(job_, folder_));
  {
    const std::stop_callback stopping(stop, [this] { ending_.request_stop(); });
    std::vector<std::jthread> workers;
    try {
      for (std::size_t i = 0; i < workers_; ++i)
        workers.emplace_back([this] { work(ending_.get_token()); });
      wait_until_settled(ending_.get_token());
    } catch (...) {
      ending_.request_stop();
      throw;
    }
    ending_.request_stop();  // wakes workers that wait for a task
  }
  {
    const MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }
  // Without the lock: the queue may be the host's.
  const std::vector<TaskQueue::Failure> failures = queue_->failures();
  const MutexLock lock(report_mutex_);
  report_failures(failures);
  report_.left = static_cast<std::int64_t>(job_.videos.size() - report_.failed.size()) -
                 report_.done - report_.done_before;
  for (const std::shared_ptr<Capsule>& capsule : capsules_)
    for (const BackendStatistics& backend : capsule->backends())
      report_.calls_left += backend.running;
  return report_;
}

void BulkRun::wait_until_settled(const std::stop_token& stop) {
  {
    const MutexLock lock(mutex_);
    const auto all_put = [this]() VCAP_REQUIRES(mutex_) { return put_ == job_.videos.size(); };
    if (!all_put_.wait(mutex_, stop, all_put)) return;
  }
  queue_->wait_until_settled(stop);
}

void BulkRun::work(const std::stop_token& stop) {
  try {
    Pipeline pipeline(capsules_, {.clock = clock_});
    std::shared_ptr<JobVideo> video;  // kept, since the next task may be of the same video
    while (const auto lease = next_task(stop)) {
      video = video_of(lease->payload.at("video"));
      attempt(*lease, *video, pipeline, stop);
    }
  } catch (...) {
    {
      const MutexLock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    ending_.request_stop();  // without the lock: the queue may be the host's
  }
}

std::optional<TaskQueue::Lease> BulkRun::next_task(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (auto lease = queue_->try_lease(settings_.lease)) return lease;
    if (!put_next_video()) return queue_->lease(settings_.lease, stop);
  }
  return std::nullopt;
}

/// False if no video is left.
bool BulkRun::put_next_video() {
  while (const Job::Video* const video = take_video()) {
    const bool has_put = put_or_report(video->id);
    {
      const MutexLock lock(mutex_);
      if (++put_ == job_.videos.size()) all_put_.notify_all();
    }
    if (has_put) return true;
  }
  return false;
}

/// False if the video was done before. Without the lock: queue and callback may be the host's.
bool BulkRun::put_or_report(const std::string& video) {
  const auto note = folder_.finished(video);
  if (note)
    report(JobVideoReport::Outcome::done_before, video, note->get<RecordCounts>());
  else
    put(video, 0);
  return !note;
}

/// Null if no video is left.
const Job::Video* BulkRun::take_video() {
  const MutexLock lock(mutex_);
  return next_ < job_.videos.size() ? &job_.videos[next_++] : nullptr;
}

void BulkRun::put(const std::string& video, std::size_t slice) {
  queue_->put(task_of(video, slice), {{"video", video}, {"slice", slice}});
}

std::shared_ptr<JobVideo> BulkRun::video_of(const std::string& id) {
  const MutexLock lock(mutex_);
  std::erase_if(videos_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<JobVideo>& known = videos_[id];
  std::shared_ptr<JobVideo> video = known.lock();
  if (!video) known = video = work_.open(*by_id_.at(id));
  return video;
}

void BulkRun::attempt(const Lease& lease, JobVideo& video, Pipeline& pipeline,
                      const std::stop_token& stop) {
  std::string reason;
  {
    const LeaseRenewer::Hold hold(renewer_, lease);
    try {
      if (carry_out(lease, video, pipeline, stop))
        queue_->complete(lease, nullptr);
      else
        queue_->release(lease);
      return;
    } catch (...) {
      reason = exception_text(std::current_exception());
    }
  }
  log(LogLevel::warning, "slice " + quote(lease.task) + " of the job: attempt " +
                             std::to_string(lease.attempt) + " failed: " + reason);
  queue_->fail(lease, reason);
}

/// False if `stop` was requested before the slice was done.
bool BulkRun::carry_out(const Lease& lease, JobVideo& video, Pipeline& pipeline,
                        const std::stop_token& stop) {
  const std::string id = lease.payload.at("video");
  const auto slice = lease.payload.at("slice").get<std::size_t>();
  if (slice == 0)
    for (const std::size_t other : video.missing())
      if (other > 0) put(id, other);
  if (!video.run(slice, pipeline, stop)) return false;
  if (const auto counts = video.finish(folder_)) report(JobVideoReport::Outcome::done, id, *counts);
  return true;
}

void BulkRun::report(JobVideoReport::Outcome outcome, const std::string& video,
                     const RecordCounts& counts) {
  const MutexLock lock(report_mutex_);
  ++(outcome == JobVideoReport::Outcome::done ? report_.done : report_.done_before);
  if (settings_.on_video)
    settings_.on_video({.id = video,
                        .outcome = outcome,
                        .frames = counts.frames,
                        .broken_pictures = counts.broken_pictures,
                        .failed_frames = counts.failed_frames,
                        .first_error = counts.first_error});
}

void BulkRun::report_failures(const std::vector<TaskQueue::Failure>& failures) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const TaskQueue::Failure& failure : failures) {
    if (!failure.given_up) continue;
    const std::size_t slash = failure.task.rfind('/');
    std::vector<std::string>& all = reasons[failure.task.substr(0, slash)];
    for (std::size_t i = 0; i < failure.reasons.size(); ++i)
      all.push_back("slice " + failure.task.substr(slash + 1) + ", attempt " +
                    std::to_string(i + 1) + ": " + failure.reasons[i]);
  }
  for (const Job::Video& video : job_.videos) {
    const auto found = reasons.find(video.id);
    if (found == reasons.end() || folder_.finished(video.id)) continue;
    report_.failed.push_back({.id = video.id,
                              .outcome = JobVideoReport::Outcome::failed,
                              .reasons = std::move(found->second)});
    if (settings_.on_video) settings_.on_video(report_.failed.back());
  }
}

}  // namespace vcap
