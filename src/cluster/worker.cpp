// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/worker.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/cores.hpp"
#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "cluster/capsule_cache.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/host_name.hpp"
#include "cluster/object_store.hpp"
#include "cluster/pipeline_body.hpp"
#include "cluster/site_events.hpp"
#include "cluster/site_reader.hpp"
#include "cluster/stream_pipelines.hpp"
#include "cluster/stream_worker.hpp"
#include "cluster/worker_job.hpp"
#include "cluster/worker_place.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::size_t kLongestWorkerName = 128;

/// After a failure that may pass, such as a broker that is away.
constexpr seconds kRetryTime{1};
/// How often the list of jobs is read without a notice. A capsule that could not be loaded is tried
/// again as often.
constexpr seconds kRereadTime{30};

WorkerSettings checked(WorkerSettings settings) {
  if (settings.folder.empty())
    throw InvalidArgument(ErrorCode::invalid_argument, "worker: there is no folder");
  if (settings.slots < 0)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "worker: slots must be >= 0, got " + std::to_string(settings.slots));
  if (settings.lease < seconds(1) || settings.lease > std::chrono::hours(24))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "worker: the lease must be 1 s to 1 day, got " +
                              std::to_string(settings.lease.count()) + " ns");
  const auto require = [](const char* what, nanoseconds value, nanoseconds least,
                          nanoseconds most) {
    if (value >= least && value <= most) return;
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "worker: " + std::string(what) + " must be " + std::to_string(least.count()) + " to " +
            std::to_string(most.count()) + " ns, got " + std::to_string(value.count()) + " ns");
  };
  require("the lease of streams", settings.stream_lease, seconds(1), std::chrono::hours(1));
  require("the time of records", settings.record_time, std::chrono::milliseconds(1), seconds(60));
  require("the time of checkpoints", settings.checkpoint_time, seconds(1), std::chrono::hours(24));
  if (settings.capacity && (!std::isfinite(*settings.capacity) || *settings.capacity < 0))
    throw InvalidArgument(ErrorCode::invalid_argument, "worker: the capacity must be >= 0, got " +
                                                           number_text(*settings.capacity));
  const auto require_text = [](const char* what, const std::string& text) {
    if (find_invalid_utf8(text) < text.size())
      throw InvalidArgument(ErrorCode::invalid_argument, "worker: the " + std::string(what) + ' ' +
                                                             quote(text) + " is not UTF-8");
  };
  require_text("name", settings.name);
  for (const std::string& label : settings.labels) {
    if (label.empty())
      throw InvalidArgument(ErrorCode::invalid_argument, "worker: a label is empty");
    require_text("label", label);
  }
  if (settings.name.size() > kLongestWorkerName)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "worker: the name must have at most 128 bytes, got " +
                              std::to_string(settings.name.size()));
  return settings;
}

}  // namespace

class ClusterWorker::Impl {
 public:
  Impl(std::shared_ptr<Cluster> cluster, WorkerSettings settings)
      : cluster_(std::move(cluster)),
        settings_(checked(std::move(settings))),
        slots_(settings_.slots > 0 ? static_cast<std::size_t>(settings_.slots) : cores()),
        place_(settings_.folder),
        capsules_(fs::path(settings_.folder) / "capsules", settings_.load),
        name_(settings_.name.empty() ? place_.name() : settings_.name),
        pipelines_(capsules_),
        objects_(make_broker_store(cluster_->impl().jet_stream, cluster_->impl().site)),
        streams_(cluster_, stream_settings()) {}

  const std::string& name() const noexcept { return name_; }

  void run(const std::stop_token& stop) {
    std::stop_source ending;
    const std::stop_callback forward(stop, [&ending] { ending.request_stop(); });
    std::exception_ptr failure_of_streams;
    std::exception_ptr failure_of_jobs;
    // If one part fails, the other one ends, too.
    const auto run_part = [&ending](const auto& part, std::exception_ptr& failure) {
      try {
        part(ending.get_token());
      } catch (...) {
        failure = std::current_exception();
        ending.request_stop();
      }
    };
    std::thread streams([&] {
      run_part([this](const std::stop_token& token) { streams_.run(token); }, failure_of_streams);
    });
    run_part([this](const std::stop_token& token) { work_on_jobs(token); }, failure_of_jobs);
    streams.join();
    for (const std::exception_ptr& failure : {failure_of_streams, failure_of_jobs})
      if (failure) std::rethrow_exception(failure);
  }

  WorkerStatistics statistics() const {
    return {.done = done_,
            .failed = failed_,
            .released = released_,
            .refused = refused_,
            .streams = streams_.stream_count()};
  }

  ViewedStreams viewed_streams() {
    return {.pipelines =
                [this] {
                  std::vector<std::shared_ptr<const Pipeline>> pipelines;
                  for (const std::shared_ptr<StreamPipeline>& one : pipelines_.all())
                    pipelines.emplace_back(one, &one->pipeline);
                  return pipelines;
                },
            .all = [this] { return streams_.site_streams(); },
            .refusal =
                "the streams of a cluster are changed for all its workers, not in the view of one; "
                "use vcap stream add --replace (source, options, configs), vcap stream rollout "
                "(capsules) or vcap stream remove; vcap stream records has the records"};
  }

  void set_view(std::shared_ptr<Sink> sink, const std::string& url) {
    constexpr std::size_t kLongestUrl = 1024;
    const bool is_page = url.starts_with("http://") || url.starts_with("https://");
    if (!url.empty() && (!is_page || url.size() > kLongestUrl ||
                         !std::ranges::all_of(url, [](char c) { return c > ' ' && c < 127; })))
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "worker: the URL of the view must begin with http:// or https://, and "
                            "have at most 1024 characters of ASCII without spaces, got " +
                                quote(url));
    view_sink_ = std::move(sink);
    streams_.set_view(url);
  }

 private:
  void work_on_jobs(const std::stop_token& stop) {
    const Site& site = cluster_->impl().site;
    const auto notes = cluster_->impl().broker->subscribe(
        site.notes(Site::Kind::job, {}), [this](const BrokerMessage&) { jobs_changed(); });
    const Cluster::Impl::Watch watch(cluster_->impl(), [this] { jobs_changed(); });
    const std::stop_callback wake(stop, [this] { jobs_changed(); });
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < slots_; ++i) threads.emplace_back([this, &stop] { work(stop); });
    keep_jobs(stop);
    threads.clear();
    const MutexLock lock(mutex_);
    jobs_.clear();
  }

  StreamWorker::Settings stream_settings() {
    std::set<std::string> labels = settings_.labels;
    labels.insert(name_);
    labels.insert("host=" + host_name());
    return {.name = name_,
            .folder = place_.folder().native(),
            .lease = settings_.stream_lease,
            .capacity = settings_.capacity.value_or(static_cast<double>(cores())),
            .slots = slots_,
            .labels = std::move(labels),
            .batch_time = settings_.record_time,
            .checkpoint_time = settings_.checkpoint_time,
            .spool_bytes = settings_.spool_bytes,
            .has_name_alone = settings_.name.empty(),
            .make_body =
                [this](const std::string& id, const StreamMessage& message) {
                  return std::make_unique<PipelineBody>(id, message, pipelines_, *objects_,
                                                        view_sink_);
                },
            .statistics = [this]() -> nlohmann::json {
              return {{"slices_done", done_.load()},
                      {"slice_attempts_failed", failed_.load()},
                      {"slices_given_back", released_.load()},
                      {"invalid_job_messages", refused_.load()}};
            },
            .on_drain =
                [this](bool drain) {
                  is_draining_ = drain;
                  jobs_changed();
                }};
  }

  struct Known {
    std::uint64_t sequence = 0;        ///< of its message
    std::shared_ptr<WorkerJob> job{};  ///< null: not to be worked on
    std::size_t running = 0;           ///< slices here
    std::uint64_t served = 0;          ///< slices that were begun here, or would have been
  };

  void jobs_changed() {
    const MutexLock lock(mutex_);
    is_stale_ = true;
    ++changes_;
    changed_.notify_all();
  }
  void task_came() {
    const MutexLock lock(mutex_);
    ++changes_;
    changed_.notify_all();
  }

  /// Reads the list of jobs when it has changed, until `stop`.
  void keep_jobs(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      try {
        read_jobs();
      } catch (const std::exception& error) {
        log(LogLevel::warning, "worker: the jobs cannot be read: " + std::string(error.what()));
        restore_site(*cluster_);
        const MutexLock lock(mutex_);
        stop_or_wait(stop, kRetryTime);
        is_stale_ = true;
      }
      const MutexLock lock(mutex_);
      const auto end = std::chrono::steady_clock::now() + kRereadTime;
      while (!is_stale_ && !stop.stop_requested() && std::chrono::steady_clock::now() < end)
        changed_.wait_until(mutex_, end);
      is_stale_ = false;
    }
  }

  void stop_or_wait(const std::stop_token& stop, Clock::duration time) VCAP_REQUIRES(mutex_) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < end)
      changed_.wait_until(mutex_, end);
  }

  void read_jobs() {
    const Site& site = cluster_->impl().site;
    std::map<std::string, StoredMessage> messages;
    for (StoredMessage& message : cluster_->impl().jet_stream.all(site.stream(Site::Kind::job),
                                                                  site.all(Site::Kind::job, {})))
      if (const auto id = valid_id(message.subject))
        messages.insert_or_assign(*id, std::move(message));
    std::vector<std::shared_ptr<WorkerJob>> ended;
    std::vector<std::string> changed;
    {
      const MutexLock lock(mutex_);
      std::erase_if(jobs_, [&](auto& entry) {
        const bool is_gone = !messages.contains(entry.first);
        if (is_gone && entry.second.job) ended.push_back(std::move(entry.second.job));
        return is_gone;
      });
      for (const auto& [id, message] : messages)
        if (const auto known = jobs_.find(id);
            known == jobs_.end() || known->second.sequence != message.sequence)
          changed.push_back(id);
    }
    for (const std::string& id : changed) ended.push_back(replace(id, messages.at(id)));
    for (const std::shared_ptr<WorkerJob>& job : ended)
      if (job) job->stop();
    task_came();
  }

  static std::optional<std::string> valid_id(const std::string& subject) {
    try {
      return last_token(subject);
    } catch (const ClusterError& error) {
      log(LogLevel::warning, "worker: a job is ignored: " + std::string(error.what()));
      return std::nullopt;
    }
  }

  /// Returns what it replaces, or null.
  std::shared_ptr<WorkerJob> replace(const std::string& id, const StoredMessage& message) {
    std::shared_ptr<WorkerJob> job;
    try {
      JobMessage read = read_job_message(message.body);
      if (read.state == JobMessage::State::running)
        job = std::make_shared<WorkerJob>(id, std::move(read), context());
    } catch (const ClusterError& error) {
      if (error.code() == ErrorCode::broker_unreachable) throw;
      ++refused_;
      tell_site(*cluster_, name_, "job refused", {{"job", id}, {"reason", error.what()}});
      log(LogLevel::warning, "worker: job " + quote(id) + " is refused: " + error.what());
    } catch (const Error& error) {
      log(LogLevel::warning, "worker: job " + quote(id) + " cannot be worked on: " + error.what());
    }
    const MutexLock lock(mutex_);
    Known& known = jobs_[id];
    known.sequence = message.sequence;
    if (known.served == 0) known.served = least_served();
    return std::exchange(known.job, std::move(job));
  }

  /// So that a new job does not get all slots until it has caught up.
  std::uint64_t least_served() const VCAP_REQUIRES(mutex_) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const auto& [id, known] : jobs_)
      if (known.job && known.served > 0) least = std::min(least, known.served);
    return least == std::numeric_limits<std::uint64_t>::max() ? 1 : least;
  }

  WorkerJob::Context context() {
    return {.cluster = cluster_,
            .worker = name_,
            .capsules = capsules_,
            .work = place_.work(),
            .lease = settings_.lease,
            .slots = slots_,
            .on_load = settings_.on_load,
            .on_change = [this] { task_came(); }};
  }

  /// In the order in which they get this slot.
  std::vector<std::shared_ptr<WorkerJob>> jobs() const {
    std::vector<const Known*> order;
    if (is_draining_) return {};
    const MutexLock lock(mutex_);
    for (const auto& [id, known] : jobs_)
      if (known.job) order.push_back(&known);
    std::ranges::stable_sort(order, [](const Known* a, const Known* b) {
      return std::tuple(-a->job->priority(), a->running, a->served) <
             std::tuple(-b->job->priority(), b->running, b->served);
    });
    std::vector<std::shared_ptr<WorkerJob>> jobs;
    jobs.reserve(order.size());
    for (const Known* const known : order) jobs.push_back(known->job);
    return jobs;
  }

  struct Work {
    std::shared_ptr<WorkerJob> job{};
    TaskQueue::Lease lease{};
  };
  /// The pipeline of a slot: for the job that it worked on last.
  struct Slot {
    std::shared_ptr<WorkerJob> job{};
    std::optional<Pipeline> pipeline{};
  };

  void work(const std::stop_token& stop) {
    Slot slot;
    while (!stop.stop_requested()) {
      try {
        if (std::optional<Work> next = next_work(stop)) carry_out(*next, slot, stop);
      } catch (const std::exception& error) {
        log(LogLevel::warning, "worker: " + std::string(error.what()));
        const MutexLock lock(mutex_);
        stop_or_wait(stop, kRetryTime);
      }
    }
  }

  std::optional<Work> next_work(const std::stop_token& stop) {
    const std::vector<std::shared_ptr<WorkerJob>> jobs = this->jobs();
    for (const std::shared_ptr<WorkerJob>& job : jobs)
      if (is_usable(*job))
        if (auto lease = job->queue().try_lease(settings_.lease)) return Work{job, *lease};
    return await_work(stop, jobs);
  }

  /// `nullopt` if `stop` is requested, or the jobs have changed.
  std::optional<Work> await_work(const std::stop_token& stop,
                                 const std::vector<std::shared_ptr<WorkerJob>>& jobs) {
    std::vector<std::pair<std::shared_ptr<WorkerJob>, std::unique_ptr<ClusterQueue::Waiting>>> all;
    for (const std::shared_ptr<WorkerJob>& job : jobs)
      if (is_usable(*job))
        all.emplace_back(job, std::make_unique<ClusterQueue::Waiting>(job->queue()));
    while (!stop.stop_requested()) {
      std::uint64_t seen = 0;
      {
        const MutexLock lock(mutex_);
        seen = changes_;
      }
      if (this->jobs() != jobs) return std::nullopt;
      for (auto& [job, waiting] : all)
        if (auto lease = waiting->lease_delivered(settings_.lease)) return Work{job, *lease};
      wait(seen, stop, jobs);
    }
    return std::nullopt;
  }

  /// Returns after a change since `seen`, or when a lease of these jobs runs out.
  void wait(std::uint64_t seen, const std::stop_token& stop,
            const std::vector<std::shared_ptr<WorkerJob>>& jobs) {
    Clock::duration least = kRereadTime;
    for (const std::shared_ptr<WorkerJob>& job : jobs)
      if (const auto end = job->queue().first_end(); end != Clock::time_point::max())
        least = std::min(least, std::max(end - job->queue().clock().now(), Clock::duration(0)));
    const auto end = std::chrono::steady_clock::now() + least;
    const MutexLock lock(mutex_);
    while (changes_ == seen && !stop.stop_requested() && std::chrono::steady_clock::now() < end)
      changed_.wait_until(mutex_, end);
  }

  /// Whether its capsules are loaded, or can be. Otherwise other workers may do its tasks.
  bool is_usable(WorkerJob& job) {
    {
      const MutexLock lock(mutex_);
      if (const auto found = unusable_.find(job.id());
          found != unusable_.end() && std::chrono::steady_clock::now() < found->second)
        return false;
    }
    try {
      job.capsules();
      return true;
    } catch (const ClusterError& error) {
      if (error.code() == ErrorCode::broker_unreachable) throw;
      refuse(job, error.what());
    } catch (const std::exception& error) {
      refuse(job, error.what());
    }
    return false;
  }

  void refuse(const WorkerJob& job, const std::string& why) {
    log(LogLevel::error,
        "worker: job " + quote(job.id()) +
            " is not worked on here, because its capsules cannot be loaded: " + bounded_text(why));
    tell_site(*cluster_, name_, "job refused", {{"job", job.id()}, {"reason", bounded_text(why)}});
    const MutexLock lock(mutex_);
    unusable_[job.id()] = std::chrono::steady_clock::now() + kRereadTime;
  }

  void carry_out(const Work& work, Slot& slot, const std::stop_token& stop) {
    const Running running(*this, work.job->id());
    if (slot.job != work.job) {
      slot.pipeline.reset();
      slot.job = work.job;
    }
    if (!slot.pipeline) slot.pipeline.emplace(work.job->capsules());
    switch (work.job->attempt(work.lease, *slot.pipeline, stop)) {
      case WorkerJob::Outcome::done:
        ++done_;
        break;
      case WorkerJob::Outcome::failed:
        ++failed_;
        break;
      case WorkerJob::Outcome::released:
        ++released_;
        break;
    }
  }

  /// Counts a slice as running.
  class Running {
   public:
    Running(Impl& worker, std::string id) : worker_(worker), id_(std::move(id)) {
      const MutexLock lock(worker_.mutex_);
      ++worker_.jobs_[id_].running;
      ++worker_.jobs_[id_].served;
    }
    ~Running() {
      const MutexLock lock(worker_.mutex_);
      if (const auto known = worker_.jobs_.find(id_); known != worker_.jobs_.end())
        --known->second.running;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Impl& worker_;
    const std::string id_;
  };

  const std::shared_ptr<Cluster> cluster_;
  const WorkerSettings settings_;
  const std::size_t slots_;
  const WorkerPlace place_;
  CapsuleCache capsules_;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::atomic<std::uint64_t> released_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<bool> is_draining_ = false;
  const std::string name_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::uint64_t changes_ VCAP_GUARDED_BY(mutex_) = 0;
  bool is_stale_ VCAP_GUARDED_BY(mutex_) = false;  ///< the list of jobs has changed
  std::map<std::string, Known> jobs_ VCAP_GUARDED_BY(mutex_);
  /// Until when jobs are not tried again.
  std::map<std::string, Clock::time_point> unusable_ VCAP_GUARDED_BY(mutex_);

  std::shared_ptr<Sink> view_sink_{};  ///< set before run()
  StreamPipelines pipelines_;
  const std::unique_ptr<ObjectStore> objects_;
  StreamWorker streams_;  ///< the last one, since it calls this
};

ClusterWorker::ClusterWorker(std::shared_ptr<Cluster> cluster, WorkerSettings settings)
    : impl_(std::make_unique<Impl>(std::move(cluster), std::move(settings))) {}
ClusterWorker::~ClusterWorker() = default;
void ClusterWorker::run(const std::stop_token& stop) { impl_->run(stop); }
WorkerStatistics ClusterWorker::statistics() const { return impl_->statistics(); }
std::string ClusterWorker::name() const { return impl_->name(); }
ViewedStreams ClusterWorker::viewed_streams() const { return impl_->viewed_streams(); }
void ClusterWorker::set_view(std::shared_ptr<Sink> sink, const std::string& url) {
  impl_->set_view(std::move(sink), url);
}

}  // namespace vcap
