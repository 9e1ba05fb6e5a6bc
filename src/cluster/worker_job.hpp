// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/steady_clock.hpp"
#include "base/thread_annotations.hpp"
#include "cluster/capsule_cache.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/cluster_queue.hpp"
#include "cluster/job_message.hpp"
#include "cluster/object_store.hpp"
#include "cluster/slice_store.hpp"
#include "cluster/timed_parts.hpp"
#include "jobs/job_work.hpp"
#include "jobs/lease_renewer.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap {

/// One job on a worker: its queue, its capsules, and the videos in progress. Thread safety:
/// thread-safe.
class WorkerJob {
 public:
  struct Context {
    std::shared_ptr<Cluster> cluster{};
    std::string worker{};  ///< its name
    CapsuleCache& capsules;
    std::filesystem::path work{};  ///< for files that are being written
    std::chrono::nanoseconds lease{0};
    std::size_t slots = 1;
    std::function<void()> on_load{};    ///< as that of WorkerSettings
    std::function<void()> on_change{};  ///< as that of ClusterQueue
  };
  enum class Outcome { done, failed, released };

  /// Throws ClusterError, OutputError.
  WorkerJob(std::string id, JobMessage message, Context context);
  ~WorkerJob();
  WorkerJob(const WorkerJob&) = delete;
  WorkerJob& operator=(const WorkerJob&) = delete;

  const std::string& id() const noexcept { return id_; }
  int priority() const noexcept { return message_.priority; }
  ClusterQueue& queue() noexcept { return *queue_; }
  const Context& context() const noexcept { return context_; }

  /// Loads the capsules the first time. Throws what that throws, also the next times.
  const std::vector<std::shared_ptr<Capsule>>& capsules() VCAP_EXCLUDES(mutex_);
  /// Runs the leased slice and stores its result. The pipeline has the job's capsules. Throws
  /// ClusterError if the broker does not answer.
  Outcome attempt(const TaskQueue::Lease& lease, Pipeline& pipeline, const std::stop_token& stop);
  /// Ends what is in progress: the job is paused, or has ended.
  void stop() { stopping_.request_stop(); }

 private:
  /// A video some of whose slices are done here.
  struct OpenVideo;

  std::shared_ptr<OpenVideo> find(const SliceTask& task) VCAP_EXCLUDES(mutex_);
  std::shared_ptr<OpenVideo> open(const SliceTask& task) VCAP_EXCLUDES(mutex_);
  /// Slices in progress at once on all workers. A video that is not cut yet is cut for so many.
  std::size_t site_slots() VCAP_EXCLUDES(mutex_);
  void check_file(const SliceTask& task);
  bool carry_out(const TaskQueue::Lease& lease, const SliceTask& task, Pipeline& pipeline,
                 const std::stop_token& stop, TimedParts& parts);
  void tell(const char* what, nlohmann::json details) noexcept;
  void tell_attempt(const char* what, const TaskQueue::Lease& lease, const TimedParts& parts,
                    const std::string& reason = {});
  void supersede(const TaskQueue::Lease& lease, const SliceTask& task, const PlanMessage& plan);
  void put_slices(const SliceTask& task, int plan, const std::vector<std::size_t>& slices);
  void publish(const TaskQueue::Lease& lease, const SliceTask& task, OpenVideo& video);
  void settle(const TaskQueue::Lease& lease, const SliceResult& result);

  const std::string id_;
  const JobMessage message_;
  const Context context_;
  const std::unique_ptr<ClusterQueue> queue_;
  const std::unique_ptr<ObjectStore> objects_;
  LeaseRenewer renewer_;
  std::stop_source stopping_;

  Mutex mutex_;
  std::optional<std::vector<std::shared_ptr<Capsule>>> capsules_ VCAP_GUARDED_BY(mutex_);
  std::optional<std::size_t> slots_ VCAP_GUARDED_BY(mutex_);  ///< of the site
  Clock::time_point slots_until_ VCAP_GUARDED_BY(mutex_);     ///< when they are counted again
  /// Those whose slices were begun last, the latest one at the end.
  std::deque<std::shared_ptr<OpenVideo>> videos_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
