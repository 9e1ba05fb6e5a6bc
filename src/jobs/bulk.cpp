// SPDX-License-Identifier: Apache-2.0
#include "vcap/jobs/bulk.hpp"

#include "jobs/bulk_run.hpp"
#include "jobs/job_check.hpp"
#include "jobs/job_stamp.hpp"
#include "jobs/job_video.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap {

JobReport run_job(const Job& job, const JobSettings& settings, std::stop_token stop) {
  // Checks what the manifests say before any code of a capsule runs.
  std::vector<Manifest> manifests;
  std::vector<CapsuleInfo> infos;
  for (const Job::CapsuleFile& capsule : job.capsules) {
    manifests.push_back(read_manifest(capsule.path, settings.load));
    infos.push_back(manifests.back().info);
  }
  check_job(job, infos);
  JobFolder::Claims claims;
  for (const Job::Video& video : job.videos)
    claims.emplace(video.id, JobVideo::outputs(job.outputs, video.id));
  JobFolder folder(job.outputs.folder, job_stamp(job, manifests), claims);
  std::vector<std::shared_ptr<Capsule>> capsules;
  for (const Job::CapsuleFile& capsule : job.capsules) {
    LoadOptions load = settings.load;
    load.config = capsule.config;
    capsules.push_back(load_capsule(capsule.path, load));
  }
  return BulkRun(job, std::move(capsules), folder, settings).run(stop);
}

}  // namespace vcap
