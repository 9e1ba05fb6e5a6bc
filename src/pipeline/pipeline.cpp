// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/pipeline.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/cores.hpp"
#include "base/steady_clock.hpp"
#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "capsule/config_schema.hpp"
#include "capsule/stream_states.hpp"
#include "streams/capsule_set.hpp"
#include "streams/compiled_plan.hpp"
#include "streams/replaced_capsules.hpp"
#include "streams/slice_plan.hpp"
#include "streams/stream.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "workers/in_flight_limiter.hpp"
#include "workers/watchdog.hpp"
#include "workers/work_pool.hpp"

namespace vcap {
namespace {

/// About three full batches. Beyond this number, streams share the workers.
constexpr std::size_t kMostWorkers = 128;

/// Workers mostly wait for batches, and a frame can be in a batch only while a worker holds it. So
/// there is one worker for each frame in flight.
std::size_t automatic_workers(std::size_t frames_in_flight) {
  return std::max(2 * cores(), std::min(frames_in_flight, kMostWorkers));
}

/// The frames in flight with which one stream fills batches and cores by itself, within 64 MiB of
/// pixels: 32 frames of 768 × 576, 10 of 1080p. A live stream gets fewer, since each waiting frame
/// adds latency.
std::size_t automatic_frames_in_flight(const SourceInfo& info) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const std::size_t least = std::max<std::size_t>(4, 2 * cores());
  if (info.live || least >= 32) return least;
  return std::clamp<std::size_t>(kBytes / frame_bytes(info), least, 32);
}

/// The frames in flight that a stored stream needs to fill batches: one batch in progress and one
/// that fills, within 256 MiB of pixels. 0 if no capsule takes batches.
std::size_t batched_frames_in_flight(const SourceInfo& info, const CompiledPlan& compiled_plan) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  std::size_t largest = 0;
  for (const CompiledStep& step : compiled_plan)
    if (const auto& batch = step.slot->capsule->info().batch; batch && !info.live)
      largest = std::max(largest, batch->maximum);
  return std::min(2 * largest, kBytes / frame_bytes(info));
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

void check(const QuarantinePolicy& policy, const std::string& whose) {
  if (policy.window.count() > 0 && policy.pause.count() > 0) return;
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      whose + ": window and pause must be > 0; set failures to 0 for no quarantine");
}

void refuse_without_backend(const Capsule& capsule) {
  if (!capsule.devices().empty()) return;
  throw CapsuleLoadError(ErrorCode::no_backend,
                         "capsule " + capsule.name() +
                             " was loaded without inference_mode and cannot process frames; "
                             "load it with inference_mode = true");
}

}  // namespace

struct Pipeline::Impl {
  Impl(const std::vector<std::shared_ptr<Capsule>>& capsules, Settings wanted);

  std::shared_ptr<CapsuleSlot> make_slot(std::shared_ptr<Capsule> capsule,
                                         std::int64_t trial_frames = 0);
  std::shared_ptr<PipelineStream> find(const std::string& id) const;
  std::shared_ptr<PipelineStream> find_to_pull(const std::string& id) const;
  std::shared_ptr<const CapsuleSet> capsules() const;
  std::vector<std::shared_ptr<PipelineStream>> open_streams() const;
  std::shared_ptr<PipelineStream> stream_after(const PipelineStream* stream) const noexcept;
  StepOptions options_of(const CompiledPlan& compiled_plan,
                         const std::map<std::string, OptionValues>& given) const;
  StreamRules rules_of(const StreamConfig& config, const CompiledPlan& compiled_plan) const;
  void start(std::vector<StreamConfig> configs);
  std::shared_ptr<PipelineStream> prepare(StreamConfig config,
                                          std::shared_ptr<const RandomAccess> access)
      VCAP_REQUIRES(changing);
  void enter(const std::shared_ptr<PipelineStream>& stream) VCAP_REQUIRES(changing);
  std::map<std::string, std::int64_t> replace(const std::shared_ptr<CapsuleSlot>& slot,
                                              bool keep_state) VCAP_REQUIRES(changing);
  bool is_on_trial(const std::string& capsule) const;
  void set_trial(const std::string& capsule, std::shared_ptr<CapsuleSlot> before);
  void end_trial(const std::string& capsule, bool passed);
  StreamReport end(const std::shared_ptr<PipelineStream>& stream);
  std::shared_ptr<PipelineStream> make_stream(StreamConfig config,
                                              std::shared_ptr<const RandomAccess> access,
                                              StreamRules rules,
                                              std::shared_ptr<const CompiledPlan> compiled_plan,
                                              StepOptions options);
  PipelineStats stats() const;

  const Settings settings;
  const std::shared_ptr<Clock> clock;
  const std::shared_ptr<TraceLog> trace;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  /// Held while streams are opened or capsules change, so that these do not overlap. Capsules open
  /// their states meanwhile.
  Mutex changing;
  mutable Mutex mutex;
  std::shared_ptr<const CapsuleSet> capsule_set VCAP_GUARDED_BY(mutex);
  /// By name: the capsules replaced by those on trial.
  std::map<std::string, std::shared_ptr<CapsuleSlot>> on_trial VCAP_GUARDED_BY(mutex){};
  mutable ReplacedCapsules replaced VCAP_GUARDED_BY(mutex){};
  std::map<std::string, std::shared_ptr<PipelineStream>> streams VCAP_GUARDED_BY(mutex){};

  // Last, so that they are destroyed first: they work for the streams.
  InFlightLimiter flights;
  WorkPool pool;
  Watchdog watchdog;
};

Pipeline::Impl::Impl(const std::vector<std::shared_ptr<Capsule>>& capsules, Settings wanted)
    : settings(std::move(wanted)),
      clock(settings.clock ? settings.clock : std::make_shared<detail::SteadyClock>()),
      trace(TraceLog::of(settings.trace)),
      flights(settings.frames_in_flight),
      pool(settings.workers > 0 ? settings.workers : automatic_workers(0)),
      watchdog(clock) {
  Slots slots;
  for (const std::shared_ptr<Capsule>& capsule : capsules) {
    if (!capsule)
      throw InvalidArgument(
          ErrorCode::invalid_argument,
          "capsule " + std::to_string(slots.size() + 1) + " of a pipeline is null");
    slots.push_back(make_slot(capsule));
  }
  capsule_set = std::make_shared<const CapsuleSet>(std::move(slots), settings.unfit);
  for (const std::shared_ptr<Capsule>& capsule : capsules) refuse_without_backend(*capsule);
}

std::shared_ptr<CapsuleSlot> Pipeline::Impl::make_slot(std::shared_ptr<Capsule> capsule,
                                                       std::int64_t trial_frames) {
  const std::string name = capsule->name();
  const int version = capsule->info().version;
  auto slot =
      std::make_shared<CapsuleSlot>(std::move(capsule), settings.quarantine, clock, trial_frames,
                                    [this, name](bool passed) { end_trial(name, passed); });
  slot->trace = CapsuleTrace::make(trace, name, version);
  return slot;
}

std::shared_ptr<PipelineStream> Pipeline::Impl::find(const std::string& id) const {
  const MutexLock lock(mutex);
  const auto found = streams.find(id);
  if (found == streams.end())
    throw SourceError(ErrorCode::unknown_stream, "stream " + id + " is not open");
  return found->second;
}

std::shared_ptr<PipelineStream> Pipeline::Impl::find_to_pull(const std::string& id) const {
  std::shared_ptr<PipelineStream> stream = find(id);
  if (!stream->rules().pull)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "stream " + id +
                              " was opened without StreamConfig::pull, which next() and try_next() "
                              "need; its records go only to its sinks");
  return stream;
}

std::shared_ptr<const CapsuleSet> Pipeline::Impl::capsules() const {
  const MutexLock lock(mutex);
  return capsule_set;
}

std::vector<std::shared_ptr<PipelineStream>> Pipeline::Impl::open_streams() const {
  const MutexLock lock(mutex);
  std::vector<std::shared_ptr<PipelineStream>> open;
  for (const auto& [id, stream] : streams) open.push_back(stream);
  return open;
}

/// The open stream whose id comes after that of `stream`; null after the last. Allocates nothing.
std::shared_ptr<PipelineStream> Pipeline::Impl::stream_after(
    const PipelineStream* stream) const noexcept {
  const MutexLock lock(mutex);
  const auto next = stream ? streams.upper_bound(stream->id()) : streams.begin();
  return next == streams.end() ? nullptr : next->second;
}

StepOptions Pipeline::Impl::options_of(const CompiledPlan& compiled_plan,
                                       const std::map<std::string, OptionValues>& given) const {
  StepOptions options;
  for (const CompiledStep& step : compiled_plan) {
    options.push_back(step.slot->capsule->default_options());
    const auto own = given.find(step.slot->name());
    if (own == given.end() || own->second.declared().empty()) continue;  // keeps the defaults
    if (own->second.declared() != options.back().declared())
      throw OptionError(ErrorCode::unknown_option,
                        "options of capsule " + step.slot->name() +
                            " were made for another capsule; start from its default_options()");
    options.back() = own->second;
  }
  return options;
}

/// How many frames must have room before a waiting source is woken. With one, a source that is
/// faster than the capsules would sleep after each frame; with many streams, every source would.
/// Half of the frames are left to work on meanwhile. If frames or records pass through a thread of
/// the host, it is one: that thread may be waiting for the next frame.
std::size_t resume_threshold(const StreamConfig& config, const SourceInfo& info,
                             std::size_t in_flight) {
  return config.pull || info.fed ? 1 : std::max<std::size_t>(1, in_flight / 2);
}

StreamRules Pipeline::Impl::rules_of(const StreamConfig& config,
                                     const CompiledPlan& compiled_plan) const {
  const SourceInfo info = config.source->info();
  const std::size_t frames_in_flight =
      config.frames_in_flight > 0 ? config.frames_in_flight
                                  : std::max(automatic_frames_in_flight(info),
                                             batched_frames_in_flight(info, compiled_plan));
  return {.overflow = config.overflow != OverflowPolicy::automatic ? config.overflow
                      : info.live                                  ? OverflowPolicy::drop_oldest
                                                                   : OverflowPolicy::wait,
          .frames_in_flight = frames_in_flight,
          .resume_threshold = resume_threshold(config, info, frames_in_flight),
          .keep_every = config.keep_every,
          .max_frames = config.max_frames,
          .pull = config.pull,
          .quarantine = config.quarantine,
          .deadline = config.capsule_deadline,
          .seed = info.live ? random_seed() : detail::seed_of(config.id),
          .config = config.config,
          .capsules = config.capsules};
}

std::shared_ptr<PipelineStream> Pipeline::Impl::make_stream(
    StreamConfig config, std::shared_ptr<const RandomAccess> access, StreamRules rules,
    std::shared_ptr<const CompiledPlan> compiled_plan, StepOptions options) {
  const StreamServices services{pool, watchdog, flights, trace};
  if (asks_for_slices(config)) {
    auto plan = plan_slices(config, std::move(access), *compiled_plan, cores());
    if (auto* sliced = std::get_if<SlicedStream::Plan>(&plan))
      return std::make_shared<SlicedStream>(
          config.id, std::move(config.source), std::move(config.sinks), std::move(rules), services,
          std::move(compiled_plan), std::move(options), std::move(*sliced));
    rules.not_sliced = std::get<std::string>(std::move(plan));
    log(LogLevel::info, "stream " + config.id + " is not cut into slices: " + rules.not_sliced);
  }
  auto stream = std::make_shared<Stream>(config.id, std::move(config.source),
                                         std::move(config.sinks), std::move(rules), services);
  stream->init_route(std::move(compiled_plan), std::move(options));
  return stream;
}

/// For a stream that opens its states one after the other while it runs: checks all before the
/// first.
void check_configs(const CompiledPlan& compiled_plan, const StreamConfig& config) {
  for (const CompiledStep& step : compiled_plan) {
    const CapsuleInfo& info = step.slot->capsule->info();
    const auto check_own = [&](const std::map<std::string, JsonValue>& configs) {
      const auto own = configs.find(info.name);
      static_cast<void>(detail::completed_stream_config(
          info, own == configs.end() ? JsonValue::object() : own->second, config.id));
    };
    if (config.groups.empty()) check_own(config.config);
    for (const StreamGroup& group : config.groups)
      check_own(group.config.contains(info.name) ? group.config : config.config);
  }
}

/// Checks what can be checked without the pipeline.
void check(const StreamConfig& config) {
  if (!config.source)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "stream " + config.id + " has no source; give one, such as that of open_source()");
  if (std::find(config.sinks.begin(), config.sinks.end(), nullptr) != config.sinks.end())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "stream " + config.id + " has a sink that is null");
  if (config.max_frames && *config.max_frames < 0)
    throw InvalidArgument(ErrorCode::invalid_argument, "max_frames of stream " + config.id + ": " +
                                                           std::to_string(*config.max_frames) +
                                                           " is not 0 or more");
  if (config.keep_every < 1)
    throw InvalidArgument(ErrorCode::invalid_argument, "keep_every of stream " + config.id + ": " +
                                                           std::to_string(config.keep_every) +
                                                           " is not 1 or more");
  if (config.capsule_deadline.count() < 0)
    throw InvalidArgument(ErrorCode::invalid_argument, "capsule_deadline of stream " + config.id +
                                                           " is below 0; give 0 for no deadline");
  check(config.quarantine, "quarantine of stream " + config.id);
}

[[noreturn]] void refuse_duplicate(const std::string& id) {
  throw SourceError(ErrorCode::duplicate_stream,
                    "stream " + id +
                        " is open already; choose another id, or call wait() or close_stream() for "
                        "the old one first");
}

/// Starts all streams or none.
void Pipeline::Impl::start(std::vector<StreamConfig> configs) {
  // Without the lock: this may read whole files.
  std::vector<std::shared_ptr<const RandomAccess>> accesses;
  accesses.reserve(configs.size());
  for (const StreamConfig& config : configs)
    accesses.push_back(asks_for_slices(config) ? config.source->random_access() : nullptr);
  MutexLock change(changing);
  std::set<std::string> ids;
  std::vector<std::shared_ptr<PipelineStream>> prepared;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (!ids.insert(configs[i].id).second) refuse_duplicate(configs[i].id);
    prepared.push_back(prepare(std::move(configs[i]), std::move(accesses[i])));
  }
  std::size_t entered = 0;
  try {
    for (; entered < prepared.size(); ++entered) enter(prepared[entered]);
  } catch (...) {
    change.unlock();  // end_trial() takes this lock, and a frame that end() waits for may call it
    prepared.resize(entered);
    for (const std::shared_ptr<PipelineStream>& stream : prepared) stream->stop();
    for (const std::shared_ptr<PipelineStream>& stream : prepared) {
      stream->discard_records();
      end(stream);
    }
    throw;
  }
}

std::shared_ptr<PipelineStream> Pipeline::Impl::prepare(
    StreamConfig config, std::shared_ptr<const RandomAccess> access) {
  const std::shared_ptr<const CapsuleSet> now = capsules();
  const std::shared_ptr<const CompiledPlan> compiled_plan = now->compile_for(config.capsules);
  for (const auto& [capsule, values] : config.options) place_of(now->slots, capsule, "options");
  for (const auto& [capsule, json] : config.config) place_of(now->slots, capsule, "configuration");
  for (const StreamGroup& group : config.groups)
    for (const auto& [capsule, json] : group.config)
      place_of(now->slots, capsule, "a group's configuration");
  if (asks_for_slices(config)) check_configs(*compiled_plan, config);
  StepOptions options = options_of(*compiled_plan, config.options);
  {
    const MutexLock lock(mutex);
    if (streams.contains(config.id)) refuse_duplicate(config.id);
  }
  StreamRules rules = rules_of(config, *compiled_plan);
  return make_stream(std::move(config), std::move(access), std::move(rules), compiled_plan,
                     std::move(options));
}

void Pipeline::Impl::enter(const std::shared_ptr<PipelineStream>& stream) {
  {
    const MutexLock lock(mutex);
    if (settings.workers == 0) {
      std::size_t in_flight = std::min(stream->rules().frames_in_flight, kMostWorkers);
      for (const auto& [other, open] : streams)
        in_flight += std::min(open->rules().frames_in_flight, kMostWorkers);
      pool.raise_limit(automatic_workers(in_flight));
    }
    streams.emplace(stream->id(), stream);
  }
  try {
    stream->start();
  } catch (...) {
    const MutexLock lock(mutex);
    streams.erase(stream->id());
    throw;
  }
}

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
    log(LogLevel::error, "capsule " + capsule + " failed in its trial; version " +
                             std::to_string(version) + " replaces it again");
  } catch (...) {
    log(LogLevel::error,
        "capsule " + capsule + " failed in its trial, and version " + std::to_string(version) +
            " could not replace it again: " + exception_text(std::current_exception()));
  }
}

PipelineStats Pipeline::Impl::stats() const {
  PipelineStats stats;
  const auto now = std::chrono::steady_clock::now();
  stats.uptime = now - begin;
  stats.workers = pool.threads();
  for (const std::shared_ptr<PipelineStream>& stream : open_streams()) {
    stats.streams.push_back(stream->stats());
    stats.in_flight += stats.streams.back().in_flight;
  }
  DevicesByName devices;
  const auto add = [&](const CapsuleSlot& slot, bool is_replaced) {
    stats.capsules.push_back({.name = slot.name(),
                              .version = slot.capsule->info().version,
                              .calls = slot.meter.calls(),
                              .failures = slot.meter.failures(),
                              .calls_per_second = slot.meter.per_second(now, begin),
                              .call_ns = slot.meter.times_ns(),
                              .quarantined = slot.quarantine.holds(),
                              .replaced = is_replaced,
                              .backends = slot.capsule->backends()});
    for (const BackendStatistics& backend : stats.capsules.back().backends)
      add_to(devices, backend);
  };
  std::vector<std::shared_ptr<CapsuleSlot>> old;
  std::shared_ptr<const CapsuleSet> now_running;
  {
    const MutexLock lock(mutex);
    now_running = capsule_set;
    old = replaced.at_work(capsule_set->slots);
    devices = replaced.past();
  }
  for (const CompiledStep& step : *now_running->compiled_plan) add(*step.slot, false);
  for (const std::shared_ptr<CapsuleSlot>& slot : old) add(*slot, true);
  for (auto& [name, device] : devices) stats.devices.push_back(std::move(device));
  return stats;
}

StreamReport Pipeline::Impl::end(const std::shared_ptr<PipelineStream>& stream) {
  stream->wait_until_ended();
  stream->join();
  const MutexLock lock(mutex);
  // Another thread may also have ended the stream, and the id may be in use again.
  const auto found = streams.find(stream->id());
  if (found != streams.end() && found->second == stream) streams.erase(found);
  return stream->report();
}

Pipeline::Pipeline(std::vector<std::shared_ptr<Capsule>> capsules)
    : Pipeline(std::move(capsules), Settings{}) {}

// A value, as in the other constructor. NOLINTNEXTLINE(performance-unnecessary-value-param)
Pipeline::Pipeline(std::vector<std::shared_ptr<Capsule>> capsules, Settings settings) {
  check(settings.quarantine, "the pipeline's quarantine");
  impl_ = std::make_unique<Impl>(capsules, std::move(settings));
}

Pipeline::~Pipeline() {
  stop();
  for (const std::shared_ptr<PipelineStream>& stream : impl_->open_streams()) {
    stream->discard_records();
    impl_->end(stream);
  }
}

Plan Pipeline::plan() const { return impl_->capsules()->plan; }

void Pipeline::open_stream(StreamConfig config) {
  std::vector<StreamConfig> one;
  one.push_back(std::move(config));
  open_streams(std::move(one));
}

void Pipeline::open_streams(std::vector<StreamConfig> configs) {
  for (const StreamConfig& config : configs) check(config);
  impl_->start(std::move(configs));
}

std::int64_t Pipeline::set_option(const std::string& stream_id, const std::string& capsule,
                                  const std::string& option, OptionValue value) {
  const MutexLock change(impl_->changing);
  place_of(impl_->capsules()->slots, capsule, "option \"" + option + "\"");
  return impl_->find(stream_id)->set_option(capsule, option, std::move(value));
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

std::optional<FrameRecord> Pipeline::next(const std::string& stream_id) {
  return impl_->find_to_pull(stream_id)->next();
}

std::optional<FrameRecord> Pipeline::try_next(const std::string& stream_id) {
  return impl_->find_to_pull(stream_id)->try_next();
}

StreamReport Pipeline::close_stream(const std::string& stream_id) {
  const std::shared_ptr<PipelineStream> stream = impl_->find(stream_id);
  stream->stop();
  stream->discard_records();
  return impl_->end(stream);
}

StreamReport Pipeline::wait(const std::string& stream_id) {
  return impl_->end(impl_->find(stream_id));
}

std::vector<StreamReport> Pipeline::reports() const {
  std::vector<StreamReport> reports;
  for (const std::shared_ptr<PipelineStream>& stream : impl_->open_streams())
    reports.push_back(stream->report());
  return reports;
}

PipelineStats Pipeline::stats() const { return impl_->stats(); }

void Pipeline::stop() noexcept {
  std::shared_ptr<PipelineStream> stream = impl_->stream_after(nullptr);
  for (; stream; stream = impl_->stream_after(stream.get())) stream->stop();
}

}  // namespace vcap
