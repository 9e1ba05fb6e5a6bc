// SPDX-License-Identifier: Apache-2.0
// Replacing a capsule while streams run, and its trial.
#include <utility>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "capsule/stream_states.hpp"
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

/// What a replacement works with. Declare it before `changing` is locked: destroying it may destroy
/// capsules and streams, and so run code of authors and hosts, which must not run under a lock.
struct Pipeline::Impl::Exchange {
  std::shared_ptr<CapsuleSlot> slot{};  ///< the new capsule
  std::shared_ptr<const CapsuleSet> before{};
  std::shared_ptr<const CapsuleSet> after{};
  std::vector<std::shared_ptr<PipelineStream>> streams{};
  std::vector<Stream::Replacement> ready{};  ///< once applied, each holds the route before
};

/// Replaces the capsule in all streams or in none.
std::map<std::string, std::int64_t> Pipeline::Impl::replace(Exchange& exchange, bool keep_state) {
  const std::string& name = exchange.slot->name();
  exchange.before = capsules();
  Slots slots = exchange.before->slots;
  std::shared_ptr<CapsuleSlot>& place = slots[place_of(slots, name, "replacement")];
  const std::shared_ptr<CapsuleSlot> before = std::exchange(place, exchange.slot);
  exchange.after = std::make_shared<const CapsuleSet>(std::move(slots), settings.unfit);
  refuse_other_steps(*exchange.before, *exchange.after, name);

  exchange.streams = open_streams();
  try {
    for (const std::shared_ptr<PipelineStream>& open : exchange.streams) {
      const std::shared_ptr<Stream> stream = open->changeable();
      if (!stream) continue;
      auto compiled_plan = exchange.after->compile_for(stream->rules().capsules);
      check_pictures(*compiled_plan, stream->rules(), stream->id());
      if (auto one = stream->prepare(std::move(compiled_plan), name, keep_state))
        exchange.ready.push_back(*std::move(one));
    }
  } catch (...) {
    for (const Stream::Replacement& one : exchange.ready) Stream::cancel(one);
    throw;
  }
  std::map<std::string, std::int64_t> first_frames;
  for (Stream::Replacement& one : exchange.ready)
    first_frames.emplace(one.stream->id(), one.stream->apply(one));
  const MutexLock lock(mutex);
  capsule_set = exchange.after;
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
  Exchange exchange;
  std::exception_ptr failure;
  {
    const MutexLock change(changing);
    {
      const MutexLock lock(mutex);
      const auto found = on_trial.find(capsule);
      if (found == on_trial.end()) return;
      exchange.slot = std::move(found->second);
      on_trial.erase(found);
    }
    try {
      if (!passed) replace(exchange, false);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  // Without the lock: the log hook may call the pipeline.
  if (passed) return log(LogLevel::info, "capsule " + capsule + " has passed its trial");
  const std::string version = std::to_string(exchange.slot->capsule->info().version);
  if (failure)
    log(LogLevel::error, "capsule " + capsule +
                             " failed in its trial, and the streams could not go back to version " +
                             version + ": " + exception_text(failure));
  else
    log(LogLevel::error,
        "capsule " + capsule + " failed in its trial; all streams go back to version " + version);
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
  Impl::Exchange exchange;
  const MutexLock change(impl_->changing);
  // Under the lock: if streams that open now add workers, its bound on calls grows with them.
  exchange.slot = impl_->make_slot(std::move(capsule), policy.trial_frames);
  exchange.before = impl_->capsules();
  const Slots& slots = exchange.before->slots;
  const std::shared_ptr<CapsuleSlot> before = slots[place_of(slots, name, "replacement")];
  if (before->capsule == exchange.slot->capsule)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + name + " cannot replace itself; load the new one");
  if (impl_->is_on_trial(name))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + name +
                              " has just replaced another and is on trial; replace it after the "
                              "trial");
  if (policy.trial_frames > 0) impl_->set_trial(name, before);
  try {
    return impl_->replace(exchange, policy.keep_state);
  } catch (...) {
    impl_->set_trial(name, nullptr);
    throw;
  }
}

/// A failed trial must find a config that the capsule before accepts, too.
void Pipeline::Impl::check_on_trial(const std::string& capsule, const JsonValue& config,
                                    const std::string& stream) const {
  std::shared_ptr<CapsuleSlot> before;
  {
    const MutexLock lock(mutex);
    const auto found = on_trial.find(capsule);
    if (found != on_trial.end()) before = found->second;
  }
  if (before)
    static_cast<void>(detail::completed_stream_config(before->capsule->info(), *config, stream));
}

std::int64_t Pipeline::set_config(const std::string& stream_id, const std::string& capsule,
                                  JsonValue config, bool keep_state) {
  // These may be the last to hold streams and capsules, which are destroyed after the lock.
  std::shared_ptr<PipelineStream> open;
  Stream::Replacement change;
  const std::shared_ptr<const CapsuleSet> now = impl_->capsules();
  const std::size_t place = place_of(now->slots, capsule, "config");
  open = impl_->find(stream_id);
  // Without the lock, since it runs code of the capsule.
  if (const std::shared_ptr<Stream> stream = open->changeable())
    detail::try_stream_config(now->slots[place]->capsule->info(),
                              {.id = stream_id, .config = config, .seed = stream->rules().seed});
  const MutexLock lock(impl_->changing);
  const std::string whose = "config of capsule " + capsule + ": stream " + stream_id;
  const std::shared_ptr<Stream> stream = open->changeable();
  if (!stream)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          whose +
                              " runs in slices, whose frames do not come in order; set it when the "
                              "stream is opened, or open it without slices");
  if (stream->rules().recorded)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          whose +
                              " repeats a recording, whose results the change would not reach; set "
                              "it when the stream is opened (StreamConfig::config)");
  impl_->check_on_trial(capsule, config, stream_id);
  change = stream->prepare_config(capsule, std::move(config), keep_state);
  return stream->apply(change);
}

}  // namespace vcap
