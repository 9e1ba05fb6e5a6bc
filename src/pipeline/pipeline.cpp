// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/pipeline.hpp"

#include <algorithm>
#include <utility>

#include "base/cores.hpp"
#include "base/steady_clock.hpp"
#include "base/text.hpp"
#include "pipeline/pipeline_impl.hpp"
#include "streams/call_bound.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

std::size_t automatic_workers(std::size_t frames_in_flight) {
  return std::max(2 * cores(), std::min(frames_in_flight, kMostWorkers));
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

Pipeline::Impl::Impl(const std::vector<std::shared_ptr<Capsule>>& capsules, Settings wanted)
    : settings(std::move(wanted)),
      has_one_capsule(capsules.size() == 1),
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
  for (const auto& [name, calls] : settings.max_concurrent_calls)
    place_of(slots, name, "max_concurrent_calls");
  capsule_set = std::make_shared<const CapsuleSet>(std::move(slots), settings.unfit);
  for (const std::shared_ptr<Capsule>& capsule : capsules) refuse_without_backend(*capsule);
}

std::shared_ptr<CapsuleSlot> Pipeline::Impl::make_slot(std::shared_ptr<Capsule> capsule,
                                                       std::int64_t trial_frames) {
  const std::string name = capsule->name();
  const int version = capsule->info().version;
  const std::size_t places = places_of(*capsule);
  auto slot = std::make_shared<CapsuleSlot>(
      std::move(capsule), settings.quarantine, clock, trial_frames,
      [this, name](bool passed) { end_trial(name, passed); }, places);
  slot->trace = CapsuleTrace::make(trace, name, version);
  if (settings.outputs) slot->outputs = *settings.outputs;
  return slot;
}

/// How many calls of the capsule may be in progress with the present workers; 0: no bound.
std::size_t Pipeline::Impl::places_of(const Capsule& capsule) const {
  const CapsuleInfo& info = capsule.info();
  CallBound bound{.author = info.max_concurrent_calls,
                  .batch = info.batch,
                  .backends = capsule.devices().size(),
                  .alone = has_one_capsule,
                  .workers = pool.limit(),
                  .cores = cores()};
  if (const auto own = settings.max_concurrent_calls.find(info.name);
      own != settings.max_concurrent_calls.end())
    bound.host = own->second;
  return bound.places();
}

/// There may be more workers now. Without the lock: frames go on, and may start a worker.
void Pipeline::Impl::raise_places() {
  Slots slots;
  {
    const MutexLock lock(mutex);
    slots = capsule_set->slots;
    for (const auto& [name, slot] : on_trial) slots.push_back(slot);
  }
  for (const std::shared_ptr<CapsuleSlot>& slot : slots)
    slot->places.raise(places_of(*slot->capsule));
}

std::shared_ptr<PipelineStream> Pipeline::Impl::find(const std::string& id) const {
  const MutexLock lock(mutex);
  const auto found = streams.find(id);
  if (found == streams.end())
    throw SourceError(ErrorCode::unknown_stream, "stream " + id + " is not open");
  return found->second;
}

bool Pipeline::Impl::is_open(const std::string& id) const {
  const MutexLock lock(mutex);
  return streams.contains(id);
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
  std::vector<CapsuleSlot::Backends> ending;
  const auto add = [&](const CapsuleSlot& slot, bool is_replaced) {
    stats.capsules.push_back({.name = slot.name(),
                              .version = slot.capsule->info().version,
                              .calls = slot.meter.calls(),
                              .failures = slot.meter.failures(),
                              .calls_per_second = slot.meter.per_second(now, begin),
                              .call_ns = slot.meter.times_ns(),
                              .most_calls = slot.places.places(),
                              .waiting = slot.places.waiting(),
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
    ending = replaced.ending();
  }
  for (const CapsuleSlot::Backends& backends : ending) add_past_to(devices, backends);
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
  if (settings.outputs) check(*settings.outputs);
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

std::vector<CapsuleInfo> Pipeline::capsules() const {
  const std::shared_ptr<const CapsuleSet> set = impl_->capsules();
  std::vector<CapsuleInfo> infos;
  for (const Plan::Step& step : set->plan.steps())
    infos.push_back(set->slots[step.capsule]->capsule->info());
  return infos;
}

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
  std::shared_ptr<PipelineStream> stream;  // may be the last to hold it; destroyed after the lock
  const MutexLock change(impl_->changing);
  place_of(impl_->capsules()->slots, capsule, "option \"" + option + "\"");
  stream = impl_->find(stream_id);
  return stream->set_option(capsule, option, std::move(value));
}

StreamSettings Pipeline::stream_settings(const std::string& stream_id) const {
  return impl_->find(stream_id)->settings();
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

std::size_t Pipeline::give_up_calls(std::chrono::nanoseconds age) {
  return impl_->watchdog.expire(age);
}

void Pipeline::stop() noexcept {
  std::shared_ptr<PipelineStream> stream = impl_->stream_after(nullptr);
  for (; stream; stream = impl_->stream_after(stream.get())) stream->stop();
}

}  // namespace vcap
