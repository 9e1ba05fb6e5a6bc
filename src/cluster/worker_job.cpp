// SPDX-License-Identifier: Apache-2.0
#include "cluster/worker_job.hpp"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/host_name.hpp"
#include "cluster/site_events.hpp"
#include "cluster/site_reader.hpp"
#include "jobs/job_stamp.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

struct WorkerJob::OpenVideo {
  OpenVideo(WorkerJob& worker_job, const SliceTask& task)
      : id(task.video_id()),
        plan(task.plan),
        video(task.video),
        store(SharedPlan(worker_job.context_.cluster->impl().jet_stream,
                         worker_job.context_.cluster->impl().site, worker_job.id_, id),
              task, worker_job.id_, *worker_job.queue_, *worker_job.objects_,
              worker_job.context_.work),
        work(worker_job.message_.job, worker_job.capsules(), store,
             {.clock = std::make_shared<detail::SteadyClock>(),
              .workers = worker_job.context_.slots,
              .all_workers = worker_job.site_slots(),
              .videos = worker_job.message_.videos,
              .capsule_deadline = worker_job.message_.capsule_deadline,
              .first_call_deadline = worker_job.message_.first_call_deadline}),
        slices(work.open(video)) {}

  const std::string id;
  const int plan;
  const Job::Video video;
  SliceStore store;
  const JobWork work;
  const std::shared_ptr<JobVideo> slices;
};

namespace {

/// How long a worker leaves another attempt to others, if it does not have the video, or cannot
/// write.
constexpr std::chrono::seconds kAvoidTime{30};
/// How long a count of the site's slots is used.
constexpr std::chrono::seconds kSlotsTime{10};

std::unique_ptr<ObjectStore> objects_of(const JobMessage& message, Cluster::Impl& cluster) {
  return message.shared.empty() ? make_broker_store(cluster.jet_stream, cluster.site)
                                : make_folder_store(message.shared);
}

}  // namespace

WorkerJob::WorkerJob(std::string id, JobMessage message, Context context)
    : id_(std::move(id)),
      message_(std::move(message)),
      context_(std::move(context)),
      queue_(std::make_unique<ClusterQueue>(
          context_.cluster, id_, TaskQueue::Settings{.max_attempts = message_.job.attempts},
          context_.on_change)),
      objects_(objects_of(message_, context_.cluster->impl())),
      renewer_(*queue_, queue_->clock(), context_.lease) {}

WorkerJob::~WorkerJob() = default;

const std::vector<std::shared_ptr<Capsule>>& WorkerJob::capsules() {
  const MutexLock lock(mutex_);
  if (!capsules_) {
    TimedParts parts;
    std::vector<std::shared_ptr<Capsule>> loaded;
    const auto objects =
        make_broker_store(context_.cluster->impl().jet_stream, context_.cluster->impl().site);
    for (const JobMessage::CapsuleObject& capsule : message_.capsules)
      loaded.push_back(context_.capsules.load(capsule, message_.job.invalid_output, *objects));
    capsules_ = std::move(loaded);
    parts.end("load");
    tell("capsules loaded", {{"parts", parts.json()}});
    if (context_.on_load) context_.on_load();
  }
  return *capsules_;
}

/// Null if there is none. It knows the plan and where the frames are, so that not every slice looks
/// through the whole file.
std::shared_ptr<WorkerJob::OpenVideo> WorkerJob::find(const SliceTask& task) {
  const std::string id = task.video_id();
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(videos_, [&](const std::shared_ptr<OpenVideo>& video) {
    return video->id == id && video->plan == task.plan;
  });
  return found == videos_.end() ? nullptr : *found;
}

std::size_t WorkerJob::site_slots() {
  const MutexLock lock(mutex_);
  const Clock::time_point now = queue_->clock().now();
  if (!slots_ || now >= slots_until_) {
    slots_ = slots_of_site(*context_.cluster);
    slots_until_ = now + kSlotsTime;
  }
  return *slots_;
}

std::shared_ptr<WorkerJob::OpenVideo> WorkerJob::open(const SliceTask& task) {
  auto video = std::make_shared<OpenVideo>(*this, task);
  const MutexLock lock(mutex_);
  videos_.push_back(video);
  if (videos_.size() > context_.slots) videos_.pop_front();
  return video;
}

WorkerJob::Outcome WorkerJob::attempt(const TaskQueue::Lease& lease, Pipeline& pipeline,
                                      const std::stop_token& stop) {
  std::stop_source either;
  const std::stop_callback by_worker(stop, [&] { either.request_stop(); });
  const std::stop_callback by_job(stopping_.get_token(), [&] { either.request_stop(); });
  TimedParts parts;
  std::string reason;
  {
    const LeaseRenewer::Hold hold(renewer_, lease);
    try {
      if (carry_out(lease, read_slice_task(*lease.payload), pipeline, either.get_token(), parts)) {
        tell_attempt("slice done", lease, parts);
        return Outcome::done;
      }
      queue_->release(lease);
      parts.end("give back");
      tell_attempt("slice given back", lease, parts);
      return Outcome::released;
    } catch (const ClusterError& error) {
      // The broker's failure is not the task's.
      if (error.code() == ErrorCode::broker_unreachable) throw;
      reason = error.what();
    } catch (const OutputError& error) {
      // Such as a full disk, which must not use up all attempts.
      queue_->avoid(lease.task, queue_->clock().now() + kAvoidTime);
      reason = "worker on " + host_name() + ": " + error.what();
    } catch (...) {
      reason = exception_text(std::current_exception());
    }
  }
  log(LogLevel::warning, "slice " + quote(lease.task) + " of job " + id_ + ": attempt " +
                             std::to_string(lease.attempt) + " failed: " + reason);
  queue_->fail(lease, reason);
  parts.end("fail");
  tell_attempt("slice failed", lease, parts, reason);
  return Outcome::failed;
}

void WorkerJob::tell(const char* what, nlohmann::json details) noexcept {
  details["job"] = id_;
  tell_site(*context_.cluster, context_.worker, what, std::move(details));
}

void WorkerJob::tell_attempt(const char* what, const TaskQueue::Lease& lease,
                             const TimedParts& parts, const std::string& reason) {
  nlohmann::json details = {
      {"slice", lease.task}, {"attempt", lease.attempt}, {"parts", parts.json()}};
  if (!reason.empty()) details["reason"] = bounded_text(reason);
  tell(what, std::move(details));
}

/// Throws SourceError if the video is not here, or is another one. Then other workers get the next
/// attempt, if they want it soon.
void WorkerJob::check_file(const SliceTask& task) {
  std::string why;
  try {
    if (file_stamp(task.video.source) == task.stamp) return;
    why = "the file " + task.video.source +
          " has another size or time of change than where the job was submitted; share the "
          "folder, or keep its times when copying";
  } catch (const SourceError& error) {
    why = error.what();
  }
  queue_->avoid(task.id(), queue_->clock().now() + kAvoidTime);
  throw SourceError(ErrorCode::source_open, "worker on " + host_name() + ": " + why);
}

/// False if `stop` was requested before the slice was done.
bool WorkerJob::carry_out(const TaskQueue::Lease& lease, const SliceTask& task, Pipeline& pipeline,
                          const std::stop_token& stop, TimedParts& parts) {
  check_file(task);
  // If an attempt has failed, what is known of the slice may be wrong.
  std::shared_ptr<OpenVideo> video = lease.attempt == 1 ? find(task) : nullptr;
  if (video)
    video->store.present_plan();  // another worker may have replaced it
  else
    video = open(task);
  const std::vector<std::size_t> missing = video->slices->missing();
  if (const auto plan = video->store.known_plan(); plan && plan->number > task.plan) {
    supersede(lease, task, *plan);
    return true;
  }
  if (task.slice == 0) put_slices(task, task.plan, missing);
  parts.end("open");
  const bool is_done = video->slices->run(task.slice, pipeline, stop);
  parts.end("run");
  if (!is_done) return false;
  publish(lease, task, *video);
  parts.end("store");
  return true;
}

/// The task belongs to a plan that was replaced. The one who replaced it may have died before it
/// put the tasks of the new one.
void WorkerJob::supersede(const TaskQueue::Lease& lease, const SliceTask& task,
                          const PlanMessage& plan) {
  std::vector<std::size_t> slices(plan.slices.size());
  std::iota(slices.begin(), slices.end(), std::size_t{0});
  put_slices(task, plan.number, slices);
  queue_->complete(
      lease,
      to_result(
          {.video = task.video.id, .plan = task.plan, .slice = task.slice, .is_superseded = true}));
}

void WorkerJob::put_slices(const SliceTask& task, int plan,
                           const std::vector<std::size_t>& slices) {
  std::vector<TaskQueue::NewTask> tasks;
  for (const std::size_t slice : slices) {
    SliceTask other = task;
    other.plan = plan;
    other.slice = slice;
    if (other.id() != task.id()) tasks.push_back({other.id(), to_payload(other)});
  }
  queue_->put_all(std::move(tasks));
}

/// Settles the task, and what its attempt has stored for others: the only slice of a new plan.
void WorkerJob::publish(const TaskQueue::Lease& lease, const SliceTask& task, OpenVideo& video) {
  bool is_settled = false;
  for (const SliceResult& result : video.store.take_results()) {
    SliceTask other = task;
    other.plan = result.plan;
    other.slice = result.slice;
    if (other.id() == task.id()) {
      settle(lease, result);
      is_settled = true;
    } else {
      queue_->put(other.id(), to_payload(other));
      settle({.task = other.id()}, result);
    }
  }
  if (is_settled) return;
  if (const auto plan = video.store.present_plan(); plan && plan->number > task.plan)
    supersede(lease, task, *plan);
}

/// The first result counts; the files of another one are removed.
void WorkerJob::settle(const TaskQueue::Lease& lease, const SliceResult& result) {
  if (queue_->complete(lease, to_result(result))) return;
  for (const SliceResult::File& file : result.files)
    if (!file.text) objects_->erase(file.object.name);
}

}  // namespace vcap
