// SPDX-License-Identifier: Apache-2.0
#include "vcap/jobs/bulk.hpp"

#include "jobs/bulk_run.hpp"
#include "jobs/prepared_job.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

namespace {

void check(const JobSettings& settings) {
  const auto deadline = settings.capsule_deadline;
  const auto first = settings.first_call_deadline;
  if (deadline.count() < 0)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule_deadline of a job is below 0; give 0 for no deadline");
  if (first.count() != 0 && (deadline.count() == 0 || first < deadline))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "first_call_deadline of a job: " + std::to_string(first.count()) +
                              " ns is not at least its capsule_deadline, " +
                              std::to_string(deadline.count()) +
                              " ns, or there is no such deadline; give 0 if first calls get no "
                              "more time");
}

}  // namespace

JobReport run_job(const Job& job, const JobSettings& settings, std::stop_token stop) {
  check(settings);
  const PreparedJob prepared = prepare_job(job, settings.load);
  JobFolder folder(job.outputs.folder, prepared.stamp, prepared.claims);
  std::vector<std::shared_ptr<Capsule>> capsules;
  for (const Job::CapsuleFile& capsule : job.capsules) {
    LoadOptions load = settings.load;
    load.config = capsule.config;
    load.stencil = capsule.stencil;
    load.outputs.invalid = job.invalid_output;
    capsules.push_back(load_capsule(capsule.path, load));
  }
  if (settings.on_load) settings.on_load(capsules);
  return BulkRun(job, std::move(capsules), folder, settings).run(stop);
}

}  // namespace vcap
