// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_job.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/capsule_cache.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/cluster_queue.hpp"
#include "cluster/host_name.hpp"
#include "cluster/job_message.hpp"
#include "cluster/remove_job.hpp"
#include "cluster/settled_message.hpp"
#include "cluster/site_events.hpp"
#include "cluster/slice_store.hpp"
#include "cluster/timed_parts.hpp"
#include "files/digest.hpp"
#include "jobs/job_outputs.hpp"
#include "jobs/job_stamp.hpp"
#include "jobs/prepared_job.hpp"
#include "records/record_counts.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr int kMostPriority = 100;
/// How long a request for the next result is open; so long it takes to notice a stop.
constexpr milliseconds kResultWait{500};
/// Results that are taken with one request, if they are there.
constexpr std::uint64_t kMostResults = 100;
/// How often the state of the job is looked up without a notice.
constexpr std::chrono::seconds kLookTime{5};
/// How often, and how long apart, a plan is read that must be there: a server that has just lost
/// its lead does not have it.
constexpr int kPlanReads = 10;
constexpr milliseconds kPlanPause{100};
/// Without a result for so long, on_idle is called.
constexpr std::chrono::seconds kIdleTime{30};

void check(const Job& job, const ClusterJobSettings& settings) {
  const auto refuse = [](const std::string& words) {
    throw InvalidArgument(ErrorCode::invalid_argument, "cluster job: " + words);
  };
  if (settings.priority < -kMostPriority || settings.priority > kMostPriority)
    refuse("priority must be -100 to 100, got " + std::to_string(settings.priority));
  if (job.outputs.video && settings.shared.empty())
    refuse(
        "annotated clips do not go through the broker; give a folder that this machine and all "
        "workers see (\"shared\")");
}

/// Repeats an action until the broker answers. Returns false if `stop` was requested before.
bool await_broker(const std::stop_token& stop, const std::function<void()>& action) {
  for (bool is_away = false; !stop.stop_requested(); is_away = true) {
    try {
      action();
      return true;
    } catch (const ClusterError& error) {
      if (error.code() != ErrorCode::broker_unreachable) throw;
      if (!is_away && !stop.stop_requested())
        log(LogLevel::warning,
            "cluster: the job waits for the broker to be submitted: " + std::string(error.what()));
    }
    std::this_thread::sleep_for(kResultWait);
  }
  return false;
}

/// The same for the same job with the same folders.
std::string job_id(const Job& job, const std::string& shared, json stamp) {
  stamp.erase("videos");
  const std::string text =
      json{stamp, shared, host_name(), fs::absolute(job.outputs.folder).lexically_normal().native()}
          .dump();
  return sha256(std::as_bytes(std::span(text))).substr(0, 24);
}

/// One run of a job on a cluster. Thread safety: thread-compatible.
class ClusterJob {
 public:
  ClusterJob(std::shared_ptr<Cluster> cluster, const Job& job, const ClusterJobSettings& settings,
             const PreparedJob& prepared, const std::stop_token& stop)
      : cluster_(std::move(cluster)),
        jet_stream_(*cluster_->impl().broker, cluster_->impl().settings, stop),
        site_(cluster_->impl().site),
        job_(job),
        settings_(settings),
        id_(job_id(job, settings.shared, prepared.stamp)),
        folder_(job.outputs.folder, prepared.stamp, prepared.claims),
        queue_(cluster_, id_, {.max_attempts = job.attempts}, {}, stop),
        broker_objects_(make_broker_store(jet_stream_, site_)),
        shared_objects_(settings.shared.empty() ? nullptr : make_folder_store(settings.shared)) {
    for (const Job::Video& video : job_.videos)
      videos_.emplace(video.id,
                      Video{.video = &video, .stamp = prepared.stamp["videos"][video.id]});
    for (auto& [id, video] : videos_) {
      video.task = task_of(video).video_id();
      by_task_.emplace(video.task, &video);
    }
  }

  JobReport run(const std::stop_token& stop) {
    if (settings_.on_resume) settings_.on_resume(stored_before(job_, folder_));
    const auto notes = cluster_->impl().broker->subscribe(
        site_.note(Site::Kind::job, {id_}), [this](const BrokerMessage&) { must_look_ = true; });
    TimedParts parts;
    if (!await_broker(stop, [this] { submit(); })) {
      report_.left = static_cast<std::int64_t>(videos_.size() - settled_);
      return std::move(report_);
    }
    parts.end("submit");
    collect(stop);
    parts.end("collect");
    const bool is_over = settled_ == videos_.size() || is_cancelled_;
    tell_site(*cluster_, host_name(),
              is_cancelled_ ? "job cancelled"
              : is_over     ? "job done"
                            : "job paused",
              {{"job", id_}, {"name", message_.name}, {"parts", parts.json()}});
    if (is_over)
      remove();
    else if (!pause())
      log(LogLevel::warning,
          "cluster: the broker does not answer, so the job is not paused, and workers go on with "
          "it; run it again to collect what they have done");
    report_.left = static_cast<std::int64_t>(videos_.size() - settled_);
    const auto place = [this](const JobVideoReport& video) {
      return std::ranges::find(job_.videos, video.id, &Job::Video::id) - job_.videos.begin();
    };
    std::ranges::sort(report_.failed, {}, place);
    return std::move(report_);
  }

 private:
  /// Its outputs are there, whatever the broker says.
  void remove() const {
    try {
      remove_job(*cluster_, id_);
    } catch (const ClusterError& error) {
      log(LogLevel::warning, "cluster: job " + id_ +
                                 " is over, but stays in the broker; remove it with vcap cluster "
                                 "cancel: " +
                                 error.what());
    }
  }

  struct Video {
    const Job::Video* video = nullptr;
    json stamp{};
    bool is_settled = false;
    int plan = 0;  ///< the number of the plan in the folder; 0: none
    std::set<std::size_t> missing{};
    std::string task{};  ///< SliceTask::video_id()
  };

  SliceTask task_of(const Video& video) const {
    return {.video = *video.video,
            .stamp = {{"size", video.stamp.at("size")},
                      {"modified_ns", video.stamp.at("modified_ns")}}};
  }

  /// Takes results until all videos are settled, the job is cancelled, or `stop` is requested. A
  /// broker that is away is waited for.
  void collect(const std::stop_token& stop) {
    std::optional<StreamReader> results;
    Clock::time_point look_at = Clock::time_point::min();
    bool is_away = false;
    idle_since_ = now();
    while (!stop.stop_requested() && !is_cancelled_ && settled_ < videos_.size()) {
      try {
        if (!results)
          results.emplace(jet_stream_, site_.stream(Site::Kind::settled),
                          site_.all(Site::Kind::settled, {id_}));
        if (must_look_.exchange(false) || now() >= look_at) {
          if (look() || repair()) results.reset();
          look_at = now() + kLookTime;
          if (!results) continue;
        }
        const std::uint64_t there = std::clamp<std::uint64_t>(results->pending(), 1, kMostResults);
        for (const StoredMessage& message : results->next(there, kResultWait)) {
          if (stop.stop_requested()) return;
          take(message);
          idle_since_ = now();
        }
        report_idle();
        if (is_away) log(LogLevel::warning, "cluster: the broker answers again");
        is_away = false;
      } catch (const ClusterError& error) {
        if (stop.stop_requested()) return;
        if (error.code() == ErrorCode::closed) throw;
        if (!is_away)
          log(LogLevel::warning,
              "cluster: the job waits for the broker, which does not answer as it should: " +
                  std::string(error.what()));
        is_away = true;
        results.reset();
        look_at = Clock::time_point::min();
        std::this_thread::sleep_for(kResultWait);
      }
    }
  }

  static Clock::time_point now() { return std::chrono::steady_clock::now(); }

  /// Somebody else may have ended the job. Returns whether the broker had lost it, and it was
  /// submitted again.
  bool look() {
    prepare_streams(jet_stream_, site_, true, cluster_->impl().settings.replicas);
    const auto message =
        jet_stream_.last(site_.stream(Site::Kind::job), site_.subject(Site::Kind::job, {id_}));
    if (!message) {
      log(LogLevel::warning, "cluster: the broker has lost the job, which is submitted again");
      queue_.create_consumer();
      submit();
      return true;
    }
    if (read_job_message(message->body).state == JobMessage::State::ended) is_cancelled_ = true;
    // Who removes another job may not have seen that this one has the same capsule.
    for (std::size_t i = 0; !is_cancelled_ && i < message_.capsules.size(); ++i)
      if (!broker_objects_->contains(message_.capsules[i].object.name))
        send_capsule(*broker_objects_, job_.capsules[i].path);
    return false;
  }

  /// A cluster of servers that die may lose what it has acknowledged, and one that has just lost
  /// its lead answers with what it had. So if nothing is left to do, but results are missing, all
  /// are read again, and the missing slices put again: those that exist stay as they are. Returns
  /// whether that was so.
  bool repair() {
    if (now() - idle_since_ < kLookTime) return false;
    const TaskQueue::Counts counts = queue_.counts();
    if (counts.waiting + counts.leased > 0) return false;
    std::vector<TaskQueue::NewTask> tasks;
    for (auto& [id, video] : videos_) {
      if (video.is_settled) continue;
      read_plan(video);
      SliceTask task = task_of(video);
      if (video.plan == 0) tasks.push_back({task.id(), to_payload(task)});
      for (const std::size_t slice : video.missing) {
        task.plan = video.plan;
        task.slice = slice;
        tasks.push_back({task.id(), to_payload(task)});
      }
    }
    if (const std::size_t put = queue_.put_all(std::move(tasks)); put > 0)
      log(LogLevel::warning,
          "cluster: the broker has lost " + counted(put, "slice") + "; put again");
    idle_since_ = now();
    return true;
  }

  /// Says so if no result has come for long.
  void report_idle() {
    if (now() - idle_since_ < kIdleTime) return;
    idle_since_ = now();
    if (settings_.on_idle) settings_.on_idle(queue_.counts());
  }

  ObjectStore& objects() { return shared_objects_ ? *shared_objects_ : *broker_objects_; }

  void submit() {
    JobMessage message{.name = host_name() + ':' + fs::absolute(job_.outputs.folder).native(),
                       .priority = settings_.priority,
                       .submitted = jet_stream_.time(site_.stream(Site::Kind::job)),
                       .videos = videos_.size(),
                       .settled_before = jet_stream_.count(site_.stream(Site::Kind::settled),
                                                           site_.all(Site::Kind::settled, {id_})),
                       .shared = settings_.shared,
                       .job = job_,
                       .capsule_deadline = settings_.capsule_deadline,
                       .first_call_deadline = settings_.first_call_deadline};
    for (const Job::CapsuleFile& capsule : job_.capsules)
      message.capsules.push_back(
          {send_capsule(*broker_objects_, capsule.path), capsule.config, capsule.stencil});
    std::vector<TaskQueue::NewTask> tasks;
    for (auto& [id, video] : videos_) {
      if (const auto note = folder_.finished(id)) {
        if (video.is_settled) continue;
        settle(video, JobVideoReport::Outcome::done_before, note->get<RecordCounts>());
      } else {
        const SliceTask task = task_of(video);
        tasks.push_back({task.id(), to_payload(task)});
      }
    }
    queue_.revive();
    drop_old_tasks();
    queue_.put_all(std::move(tasks));
    store(message);
  }

  /// Settles the tasks of videos that have changed, or have left the job, since an earlier run.
  void drop_old_tasks() {
    std::vector<std::pair<std::string, SliceTask>> old;
    jet_stream_.each(site_.stream(Site::Kind::task), site_.all(Site::Kind::task, {id_}),
                     [&](const StoredMessage& message) {
                       try {
                         SliceTask task = read_slice_task(ClusterQueue::payload_of(message.body));
                         if (!by_task_.contains(task.video_id()))
                           old.emplace_back(last_token(message.subject), std::move(task));
                       } catch (const ClusterError&) {  // the worker that gets it says so
                       }
                     });
    for (const auto& [id, task] : old)
      queue_.complete({.task = id}, to_result({.video = task.video.id,
                                               .plan = task.plan,
                                               .slice = task.slice,
                                               .is_superseded = true}));
  }

  void store(const JobMessage& message) {
    const auto stored =
        jet_stream_.store(site_.subject(Site::Kind::job, {id_}), to_message(message));
    message_ = message;
    sequence_ = stored.value();
  }

  /// Unless somebody has changed its state meanwhile. False if the broker does not answer.
  bool pause() {
    message_.state = JobMessage::State::paused;
    try {
      if (!cluster_->is_connected()) return false;
      jet_stream_.store(site_.subject(Site::Kind::job, {id_}), to_message(message_), sequence_);
      return true;
    } catch (const ClusterError&) {
      return false;
    }
  }

  /// A task was settled. A result that cannot be used is taken back, so that the slice is done
  /// again.
  void take(const StoredMessage& message) {
    std::string task;
    try {
      task = last_token(message.subject);
      const SettledMessage settled = read_settled(message.body);
      if (!settled.is_done)
        give_up(task, settled.reasons);
      else
        take(read_slice_result(settled.result));
    } catch (const ClusterError& error) {
      if (error.code() != ErrorCode::invalid_message && error.code() != ErrorCode::object_missing)
        throw;
      log(LogLevel::warning, "cluster: the result of task " + quote(task) +
                                 " is refused, and the slice is done again: " + error.what());
      tell_site(*cluster_, host_name(), "slice result refused",
                {{"job", id_}, {"slice", task}, {"reason", error.what()}});
      if (!task.empty())
        queue_.refuse_result(task, message.sequence,
                             "its result was refused: " + std::string(error.what()));
    }
  }

  void take(const SliceResult& result) {
    const auto found = videos_.find(result.video);
    if (result.is_superseded || found == videos_.end() || found->second.is_settled) return;
    Video& video = found->second;
    for (int i = 0; result.plan > video.plan && i < kPlanReads; ++i) {
      if (i > 0) std::this_thread::sleep_for(kPlanPause);
      read_plan(video);
    }
    if (result.plan > video.plan)
      throw ClusterError(ErrorCode::invalid_message, "the broker has lost its plan");
    const auto plan = folder_.plan(result.video);
    if (result.plan != video.plan || !plan || result.slice >= plan->size()) return;
    if (video.missing.contains(result.slice)) {
      fetch(result);
      video.missing.erase(result.slice);
      if (settings_.on_slice) settings_.on_slice(result.counts.get<RecordCounts>().frames);
    }
    if (video.missing.empty())
      settle(video, JobVideoReport::Outcome::done,
             finish_outputs(folder_, job_.outputs, result.video));
  }

  /// Brings the folder's plan of a video up to the cluster's.
  void read_plan(Video& video) {
    const std::string& id = video.video->id;
    const auto plan = SharedPlan(jet_stream_, site_, id_, video.task).read();
    if (!plan) return;
    if (folder_.plan(id) != plan->slices) {
      folder_.forget(id);
      folder_.begin(id, plan->slices);
    }
    video.plan = plan->number;
    video.missing.clear();
    for (std::size_t slice = 0; slice < plan->slices.size(); ++slice)
      if (!folder_.result(id, slice)) video.missing.insert(slice);
  }

  void fetch(const SliceResult& result) {
    const auto has = [&result](const char* name) {
      return std::ranges::find(result.files, name, &SliceResult::File::name) != result.files.end();
    };
    if ((job_.outputs.jsonl && !has(kSliceRecords)) || (job_.outputs.video && !has(kSliceClip)))
      throw ClusterError(ErrorCode::invalid_message, "it lacks a file");
    const auto staged = folder_.stage(result.video, result.slice);
    for (const SliceResult::File& file : result.files)
      if (file.text)
        write(staged->path() / file.name, *file.text);
      else
        objects().get(file.object, staged->path() / file.name);
    staged->commit(result.counts);
  }

  static void write(const fs::path& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();  // it reaches the disk when the slice is committed
    if (!file)
      throw OutputError(ErrorCode::output_write, quote(path.native()) +
                                                     " cannot be written: check the disk's space "
                                                     "and the folder's permissions");
  }

  void settle(Video& video, JobVideoReport::Outcome outcome, const RecordCounts& counts) {
    video.is_settled = true;
    ++settled_;
    ++(outcome == JobVideoReport::Outcome::done ? report_.done : report_.done_before);
    if (settings_.on_video)
      settings_.on_video({.id = video.video->id,
                          .outcome = outcome,
                          .frames = counts.frames,
                          .broken_pictures = counts.broken_pictures,
                          .failed_frames = counts.failed_frames,
                          .first_error = counts.first_error});
  }

  /// The video has failed, if the slice is one of its present plan.
  void give_up(const std::string& task, const std::vector<std::string>& reasons) {
    const std::size_t slice = task.rfind('/');
    const std::size_t plan =
        slice == 0 || slice == task.npos ? task.npos : task.rfind('/', slice - 1);
    if (plan == task.npos) return;
    const auto found = by_task_.find(task.substr(0, plan));
    if (found == by_task_.end() || found->second->is_settled) return;
    Video& video = *found->second;
    read_plan(video);
    if (task.substr(plan + 1, slice - plan - 1) != std::to_string(std::max(video.plan, 1))) return;
    JobVideoReport report{.id = video.video->id, .outcome = JobVideoReport::Outcome::failed};
    for (std::size_t i = 0; i < reasons.size(); ++i)
      report.reasons.push_back("slice " + task.substr(slice + 1) + ", attempt " +
                               std::to_string(i + 1) + ": " + reasons[i]);
    video.is_settled = true;
    ++settled_;
    if (settings_.on_video) settings_.on_video(report);
    report_.failed.push_back(std::move(report));
  }

  const std::shared_ptr<Cluster> cluster_;
  JetStream jet_stream_;  ///< after a stop, nothing waits for a broker that does not answer
  const Site& site_;
  const Job& job_;
  const ClusterJobSettings& settings_;
  const std::string id_;
  JobFolder folder_;
  ClusterQueue queue_;
  const std::unique_ptr<ObjectStore> broker_objects_;
  const std::unique_ptr<ObjectStore> shared_objects_;  ///< null: results go through the broker
  std::map<std::string, Video> videos_;
  std::map<std::string, Video*> by_task_;
  bool is_cancelled_ = false;
  std::size_t settled_ = 0;
  JobMessage message_{};
  std::uint64_t sequence_ = 0;  ///< of that message
  std::atomic<bool> must_look_ = false;
  Clock::time_point idle_since_{};
  JobReport report_{};
};

}  // namespace

JobReport run_cluster_job(std::shared_ptr<Cluster> cluster, const Job& job,
                          const ClusterJobSettings& settings, std::stop_token stop) {
  check(job, settings);
  const PreparedJob prepared = prepare_job(job, settings.load);
  std::optional<ClusterJob> run;
  if (!await_broker(stop, [&] { run.emplace(cluster, job, settings, prepared, stop); }))
    return {.left = static_cast<std::int64_t>(job.videos.size())};
  return run->run(stop);
}

}  // namespace vcap
