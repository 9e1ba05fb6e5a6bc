// SPDX-License-Identifier: Apache-2.0
// Replacing a capsule while streams run, and its trial.
#include <utility>

#include "base/text.hpp"
#include "pipeline/pipeline_impl.hpp"
#include "streams/stream.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// A replacement may change what one capsule does, but not which capsules are in the plan.
void refuse_other_steps(const CapsuleSet& before, const CapsuleSet& after,
                        const std::string& replaced) {
  const auto has = [](const CapsuleSet& capsule_set, const std::string& name) {
    return std::ranges::any_of(capsule_set.plan.steps(),
                               [&](const Plan::Step& step) { return step.name == name; });
  };
  for (const Plan::LeftOut& one : after.plan.left_out())
    if (has(before, one.name)) throw PlanError(ErrorCode::unsatisfied_input, one.reason);
  for (const Plan::Step& step : after.plan.steps())
    if (!has(before, step.name))
      throw PlanError(ErrorCode::unsatisfied_input,
                      "with the new capsule " + replaced + ", capsule " + step.name +
                          " would no longer be left out; make a new pipeline of them");
}

}  // namespace

/// Replaces the capsule in all streams or in none.
std::map<std::string, std::int64_t> Pipeline::Impl::replace(
    const std::shared_ptr<CapsuleSlot>& slot, bool keep_state) {
  const std::string& name = slot->name();
  const std::shared_ptr<const CapsuleSet> now = capsules();
  Slots slots = now->slots;
  std::shared_ptr<CapsuleSlot>& place = slots[place_of(slots, name, "replacement")];
  const std::shared_ptr<CapsuleSlot> before = std::exchange(place, slot);
  auto next = std::make_shared<const CapsuleSet>(std::move(slots), settings.unfit);
  refuse_other_steps(*now, *next, name);

  std::vector<Stream::Replacement> ready;
  try {
    for (const std::shared_ptr<PipelineStream>& open : open_streams()) {
      const std::shared_ptr<Stream> stream = open->changeable();
      if (!stream) continue;
      if (auto one = stream->prepare(next->compile_for(stream->rules().capsules), name, keep_state))
        ready.push_back(*std::move(one));
    }
  } catch (...) {
    for (const Stream::Replacement& one : ready) Stream::cancel(one);
    throw;
  }
  std::map<std::string, std::int64_t> first_frames;
  for (Stream::Replacement& one : ready) {
    const std::shared_ptr<Stream> stream = one.stream;
    first_frames.emplace(stream->id(), stream->apply(std::move(one)));
  }
  const MutexLock lock(mutex);
  capsule_set = std::move(next);
  replaced.add(before);
  return first_frames;
}

bool Pipeline::Impl::is_on_trial(const std::string& capsule) const {
  const MutexLock lock(mutex);
  return on_trial.contains(capsule);
}

/// `before`: the capsule that was replaced; null ends the trial.
void Pipeline::Impl::set_trial(const std::string& capsule, std::shared_ptr<CapsuleSlot> before) {
  const MutexLock lock(mutex);
  if (before)
    on_trial[capsule] = std::move(before);
  else
    on_trial.erase(capsule);
}

/// [frame worker]
void Pipeline::Impl::end_trial(const std::string& capsule, bool passed) {
  const MutexLock change(changing);
  std::shared_ptr<CapsuleSlot> before;
  {
    const MutexLock lock(mutex);
    const auto found = on_trial.find(capsule);
    if (found == on_trial.end()) return;
    before = std::move(found->second);
    on_trial.erase(found);
  }
  const int version = before->capsule->info().version;
  if (passed) return log(LogLevel::info, "capsule " + capsule + " has passed its trial");
  try {
    replace(before, false);
    log(LogLevel::error, "capsule " + capsule +
                             " failed in its trial; all streams go back to version " +
                             std::to_string(version));
  } catch (...) {
    log(LogLevel::error, "capsule " + capsule +
                             " failed in its trial, and the streams could not go back to version " +
                             std::to_string(version) + ": " +
                             exception_text(std::current_exception()));
  }
}

std::map<std::string, std::int64_t> Pipeline::replace_capsule(std::shared_ptr<Capsule> capsule,
                                                              ReplacePolicy policy) {
  if (!capsule)
    throw InvalidArgument(ErrorCode::invalid_argument, "the new capsule for a pipeline is null");
  if (policy.trial_frames < 0)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "trial_frames of capsule " + capsule->name() + ": " +
                              std::to_string(policy.trial_frames) + " is not 0 or more");
  refuse_without_backend(*capsule);
  const std::string name = capsule->name();
  const MutexLock change(impl_->changing);
  const Slots slots = impl_->capsules()->slots;
  const std::shared_ptr<CapsuleSlot> before = slots[place_of(slots, name, "replacement")];
  if (before->capsule == capsule)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + name + " cannot replace itself; load the new one");
  if (impl_->is_on_trial(name))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + name +
                              " has just replaced another and is on trial; replace it after the "
                              "trial");
  if (policy.trial_frames > 0) impl_->set_trial(name, before);
  try {
    return impl_->replace(impl_->make_slot(std::move(capsule), policy.trial_frames),
                          policy.keep_state);
  } catch (...) {
    impl_->set_trial(name, nullptr);
    throw;
  }
}

}  // namespace vcap
