// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_work.hpp"

#include <algorithm>

#include "base/cores.hpp"

namespace vcap {
namespace {

/// If there are few videos, two slices for each worker, so that no worker waits long for the last
/// slice.
std::size_t parts_wanted(std::size_t videos, std::size_t workers) {
  if (workers < 2 || videos == 0) return 1;
  return (2 * workers + videos - 1) / videos;
}

/// If videos already keep the cores busy, more threads for each cost only time and memory.
int decoder_threads(std::size_t videos, std::size_t workers) {
  const std::size_t at_once = std::max<std::size_t>(std::min(workers, videos), 1);
  return static_cast<int>(std::max<std::size_t>(cores() / at_once, 1));
}

Slots slots_of(const std::vector<std::shared_ptr<Capsule>>& capsules,
               const std::shared_ptr<Clock>& clock) {
  Slots slots;
  for (const std::shared_ptr<Capsule>& capsule : capsules)
    slots.push_back(
        std::make_shared<CapsuleSlot>(capsule, QuarantinePolicy(), clock, 0, [](bool) {}));
  return slots;
}

}  // namespace

JobWork::JobWork(const Job& job, const std::vector<std::shared_ptr<Capsule>>& capsules,
                 JobStore& store, const Settings& settings)
    : capsule_set_(slots_of(capsules, settings.clock), UnfitPolicy::refuse),
      setting_{.job = job,
               .capsule_set = capsule_set_,
               .store = store,
               .parts_wanted =
                   parts_wanted(settings.videos, std::max(settings.workers, settings.all_workers)),
               .decoder_threads = decoder_threads(settings.videos, settings.workers),
               .capsule_deadline = settings.capsule_deadline,
               .first_call_deadline = settings.first_call_deadline,
               .on_record = settings.on_record} {}

JobWork::~JobWork() = default;

std::shared_ptr<JobVideo> JobWork::open(const Job::Video& video) const {
  return std::make_shared<JobVideo>(video, setting_);
}

}  // namespace vcap
