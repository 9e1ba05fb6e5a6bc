// SPDX-License-Identifier: Apache-2.0
#include "jobs/prepared_job.hpp"

#include <utility>

#include "capsule/host_stencil.hpp"
#include "jobs/job_check.hpp"
#include "jobs/job_outputs.hpp"
#include "jobs/job_stamp.hpp"
#include "records/record_counts.hpp"

namespace vcap {

PreparedJob prepare_job(const Job& job, const LoadOptions& load) {
  PreparedJob prepared;
  std::vector<CapsuleInfo> infos;
  for (const Job::CapsuleFile& capsule : job.capsules) {
    prepared.manifests.push_back(read_manifest(capsule.path, load));
    const CapsuleInfo& info = prepared.manifests.back().info;
    infos.push_back(capsule.stencil ? with_stencil(info, *capsule.stencil) : info);
  }
  check_job(job, infos);
  for (const Job::Video& video : job.videos)
    prepared.claims.emplace(video.id, output_names(job.outputs, video.id));
  prepared.stamp = job_stamp(job, prepared.manifests);
  return prepared;
}

JobKept stored_before(const Job& job, const JobStore& store) {
  JobKept kept;
  for (const Job::Video& video : job.videos) {
    if (store.finished(video.id)) {
      kept.videos.push_back(video.id);
    } else if (const auto plan = store.plan(video.id)) {
      for (std::size_t slice = 0; slice < plan->size(); ++slice)
        if (const auto result = store.result(video.id, slice)) {
          ++kept.slices;
          kept.frames += result->get<RecordCounts>().frames;
        }
    }
  }
  return kept;
}

}  // namespace vcap
