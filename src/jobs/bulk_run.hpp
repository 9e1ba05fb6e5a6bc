// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "jobs/job_folder.hpp"
#include "jobs/job_work.hpp"
#include "jobs/lease_renewer.hpp"
#include "vcap/jobs/bulk.hpp"

namespace vcap {

/// One run of a job that was checked, with loaded capsules.
///
/// The queue has a task for each slice, and no more tasks than needed. A worker that finds it empty
/// puts the first slice of the next video; the worker that gets this slice puts the video's other
/// slices. The worker that stores a video's last slice makes its outputs. Borrows the job and the
/// folder. Thread safety: thread-compatible.
class BulkRun {
 public:
  /// Throws PlanError, CapsuleLoadError, InvalidArgument for invalid settings.
  BulkRun(const Job& job, std::vector<std::shared_ptr<Capsule>> capsules, JobFolder& folder,
          JobSettings settings);

  /// Call once.
  JobReport run(const std::stop_token& stop);

 private:
  using Lease = TaskQueue::Lease;

  void work(const std::stop_token& stop);
  std::optional<Lease> next_task(const std::stop_token& stop);
  bool put_next_video() VCAP_EXCLUDES(mutex_);
  bool put_or_report(const std::string& video) VCAP_EXCLUDES(mutex_);
  const Job::Video* take_video() VCAP_EXCLUDES(mutex_);
  void put(const std::string& video, std::size_t slice);
  std::shared_ptr<JobVideo> video_of(const std::string& id) VCAP_EXCLUDES(mutex_);
  void attempt(const Lease& lease, JobVideo& video, Pipeline& pipeline,
               const std::stop_token& stop);
  bool carry_out(const Lease& lease, JobVideo& video, Pipeline& pipeline,
                 const std::stop_token& stop);
  void wait_until_settled(const std::stop_token& stop) VCAP_EXCLUDES(mutex_);
  void report(JobVideoReport::Outcome outcome, const std::string& video, const RecordCounts& counts)
      VCAP_EXCLUDES(report_mutex_);
  void report_failures(const std::vector<TaskQueue::Failure>& failures)
      VCAP_REQUIRES(report_mutex_);

  const Job& job_;
  JobFolder& folder_;
  const std::vector<std::shared_ptr<Capsule>> capsules_;
  const JobSettings settings_;
  const std::size_t workers_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<TaskQueue> queue_;
  const JobWork work_;
  LeaseRenewer renewer_;
  std::map<std::string, const Job::Video*> by_id_;
  std::stop_source ending_;  ///< ends the workers

  Mutex mutex_;
  /// The first video that no worker has taken, to put its first slice.
  std::size_t next_ VCAP_GUARDED_BY(mutex_) = 0;
  /// How many videos have their first slice in the queue, or were done before.
  std::size_t put_ VCAP_GUARDED_BY(mutex_) = 0;
  StoppableCondVar all_put_;
  /// The videos that workers have now, or had last.
  std::map<std::string, std::weak_ptr<JobVideo>> videos_ VCAP_GUARDED_BY(mutex_);
  /// What ended a worker with an error.
  std::exception_ptr failure_ VCAP_GUARDED_BY(mutex_);

  Mutex report_mutex_;  ///< also held during on_video
  JobReport report_ VCAP_GUARDED_BY(report_mutex_);
};

}  // namespace vcap
