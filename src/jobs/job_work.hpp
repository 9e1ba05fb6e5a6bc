// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "jobs/job_store.hpp"
#include "jobs/job_video.hpp"
#include "streams/capsule_set.hpp"
#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"
#include "vcap/jobs/job.hpp"

namespace vcap {

/// What the videos of a job share while a process works on them: the plan of its loaded capsules,
/// and how the videos are cut. Borrows the job and the store. Thread safety: thread-safe, since it
/// is constant.
class VCAP_EXPORT JobWork {
 public:
  struct Settings {
    std::shared_ptr<Clock> clock{};
    std::size_t workers = 1;      ///< slices in progress at once, in this process
    std::size_t all_workers = 0;  ///< the same, in all processes; 0: there are no others
    std::size_t videos = 1;       ///< of the job
    std::chrono::nanoseconds capsule_deadline{0};
    std::chrono::nanoseconds first_call_deadline{0};
    std::function<void(const FrameRecord&)> on_record{};
  };

  /// Throws PlanError.
  JobWork(const Job& job, const std::vector<std::shared_ptr<Capsule>>& capsules, JobStore& store,
          const Settings& settings);
  ~JobWork();
  JobWork(const JobWork&) = delete;
  JobWork& operator=(const JobWork&) = delete;

  /// Borrows the video.
  std::shared_ptr<JobVideo> open(const Job::Video& video) const;

 private:
  const CapsuleSet capsule_set_;
  const JobSetting setting_;
};

}  // namespace vcap
