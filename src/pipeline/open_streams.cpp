// SPDX-License-Identifier: Apache-2.0
// Opening streams: what is checked first, how many frames each has in flight, how all start or
// none.
#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "base/cores.hpp"
#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "capsule/stream_states.hpp"
#include "pipeline/pipeline_impl.hpp"
#include "streams/slice_plan.hpp"
#include "streams/stream.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// The frames in flight with which one stream fills batches and cores by itself, within 64 MiB of
/// pixels: 32 frames of 768 × 576, 10 of 1080p. A live stream gets fewer, since each waiting frame
/// adds latency.
std::size_t automatic_frames_in_flight(const SourceInfo& info, const CompiledPlan& compiled_plan) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const std::size_t least = std::max<std::size_t>(4, 2 * cores());
  if (info.live || least >= 32) return least;
  return std::clamp<std::size_t>(kBytes / frame_bytes(info, compiled_plan), least, 32);
}

/// The frames in flight that a stored stream needs to fill batches: one batch in progress and one
/// that fills, within 256 MiB of pixels. 0 if no capsule takes batches.
std::size_t batched_frames_in_flight(const SourceInfo& info, const CompiledPlan& compiled_plan) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  std::size_t largest = 0;
  for (const CompiledStep& step : compiled_plan)
    if (const auto& batch = step.slot->capsule->info().batch; batch && !info.live)
      largest = std::max(largest, batch->maximum);
  return std::min(2 * largest, kBytes / frame_bytes(info, compiled_plan));
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

/// How many frames must have room before a waiting source is woken. With one, a source that is
/// faster than the capsules would sleep after each frame; with many streams, every source would.
/// Half of the frames are left to work on meanwhile. If frames or records pass through a thread of
/// the host, it is one: that thread may be waiting for the next frame.
std::size_t resume_threshold(const StreamConfig& config, const SourceInfo& info,
                             std::size_t in_flight) {
  return config.pull || info.fed ? 1 : std::max<std::size_t>(1, in_flight / 2);
}

/// For a stream that opens its states one after the other while it runs: checks all before the
/// first.
void check_configs(const CompiledPlan& compiled_plan, const StreamConfig& config) {
  for (const CompiledStep& step : compiled_plan) {
    const CapsuleInfo& info = step.slot->capsule->info();
    const auto check_own = [&](const std::map<std::string, JsonValue>& configs) {
      const auto own = configs.find(info.name);
      static_cast<void>(detail::completed_stream_config(
          info, *(own == configs.end() ? JsonValue::object() : own->second), config.id));
    };
    if (config.groups.empty()) check_own(config.config);
    for (const StreamGroup& group : config.groups)
      check_own(group.config.contains(info.name) ? group.config : config.config);
  }
}

bool keeps_steps(const StreamConfig& config) {
  return std::ranges::any_of(config.sinks, [](const auto& sink) { return sink->needs_steps(); });
}

bool may_look_at_pixels(const StreamConfig& config) {
  return config.pull ||
         std::ranges::any_of(config.sinks, [](const auto& sink) { return sink->needs_pixels(); });
}

/// Throws InvalidArgument unless the capsules that stand in come first, and no other one takes a
/// picture of them.
void check_recorded(const StreamConfig& config, const CompiledPlan& compiled_plan) {
  if (!config.recorded) return;
  const std::string whose = "stream " + config.id + " of a recording";
  if (asks_for_slices(config))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          whose +
                              " cannot be cut into slices or groups, or have frames selected; "
                              "leave these out");
  std::map<std::string, std::string> givers;  // by picture
  const CapsuleSlot* called = nullptr;
  for (const CompiledStep& step : compiled_plan) {
    const CapsuleInfo& info = step.slot->capsule->info();
    if (!config.recorded->stands_in(info.name)) {
      called = step.slot.get();
      for (const PictureDescription& picture : info.takes_pictures)
        if (const auto giver = givers.find(picture.name); giver != givers.end())
          throw InvalidArgument(ErrorCode::invalid_argument,
                                whose + ": capsule " + info.name + " takes picture " +
                                    quote(picture.name) + " of capsule " + giver->second +
                                    ", which stands in, and recordings do not hold pictures of "
                                    "capsules; begin before capsule " +
                                    giver->second + ", or after capsule " + info.name);
      continue;
    }
    if (called)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            whose + ": capsule " + info.name + " stands in, but capsule " +
                                called->name() +
                                " comes before it in the plan and is called; begin at another "
                                "capsule");
    for (const PictureDescription& picture : info.gives_pictures) givers[picture.name] = info.name;
  }
}

std::set<std::string> pictures_of_sinks(const StreamConfig& config) {
  std::set<std::string> names;
  for (const std::shared_ptr<Sink>& sink : config.sinks)
    for (std::string& name : sink->pictures()) names.insert(std::move(name));
  return names;
}

/// With all automatic values decided.
StreamRules rules_of(const StreamConfig& config, const CompiledPlan& compiled_plan) {
  const SourceInfo info = config.source->info();
  const std::size_t frames_in_flight =
      config.frames_in_flight > 0 ? config.frames_in_flight
                                  : std::max(automatic_frames_in_flight(info, compiled_plan),
                                             batched_frames_in_flight(info, compiled_plan));
  return {.source_name = info.description,
          .overflow = config.overflow != OverflowPolicy::automatic ? config.overflow
                      : info.live                                  ? OverflowPolicy::drop_oldest
                                                                   : OverflowPolicy::wait,
          .frames_in_flight = frames_in_flight,
          .resume_threshold = resume_threshold(config, info, frames_in_flight),
          .keep_every = config.keep_every,
          .max_frames = config.max_frames,
          .keeps_pictures = may_look_at_pixels(config),
          .kept_pictures = pictures_of_sinks(config),
          .keeps_steps = keeps_steps(config),
          .pull = config.pull,
          .quarantine = config.quarantine,
          .deadline = config.capsule_deadline,
          .first_call_deadline = config.first_call_deadline,
          .seed = config.seed ? *config.seed
                  : info.live ? random_seed()
                              : detail::seed_of(config.id),
          .recorded = config.recorded,
          .config = config.config,
          .saved = config.saved,
          .capsules = config.capsules};
}

}  // namespace

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
  if (config.first_call_deadline.count() != 0 &&
      (config.capsule_deadline.count() == 0 ||
       config.first_call_deadline < config.capsule_deadline))
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "first_call_deadline of stream " + config.id + ": " +
            std::to_string(config.first_call_deadline.count()) +
            " ns is not at least its capsule_deadline, " +
            std::to_string(config.capsule_deadline.count()) +
            " ns, or there is no such deadline; give 0 if first calls get no more time");
  check(config.quarantine, "quarantine of stream " + config.id);
}

[[noreturn]] void refuse_duplicate(const std::string& id) {
  throw SourceError(ErrorCode::duplicate_stream,
                    "stream " + id +
                        " is open already; choose another id, or call wait() or close_stream() for "
                        "the old one first");
}

void check_pictures(const CompiledPlan& compiled_plan, const StreamRules& rules,
                    const std::string& id) {
  std::vector<std::string> given;
  for (const CompiledStep& step : compiled_plan)
    for (const PictureDescription& picture : step.slot->capsule->info().gives_pictures)
      given.push_back(picture.name);
  for (const std::string& name : rules.kept_pictures)
    if (std::ranges::find(given, name) == given.end())
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "stream " + id + " has a sink for picture " + quote(name) +
                                ", which none of its capsules gives; they give " +
                                quote_list(given) + suggestion(name, given));
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

/// How a stream will run with the capsules of a set.
struct Pipeline::Impl::Draft {
  std::shared_ptr<const CompiledPlan> compiled_plan{};
  StepOptions options{};
  StreamRules rules{};
  std::optional<SlicedStream::Plan> slices{};  ///< absent: not sliced
};

/// Without a lock: this asks the host's source and sinks. `access`: the source's random_access().
Pipeline::Impl::Draft Pipeline::Impl::draft(const StreamConfig& config,
                                            const std::shared_ptr<const RandomAccess>& access,
                                            const CapsuleSet& set) const {
  Draft draft{.compiled_plan = set.compile_for(config.capsules)};
  const CompiledPlan& compiled_plan = *draft.compiled_plan;
  for (const auto& [capsule, values] : config.options) place_of(set.slots, capsule, "options");
  for (const auto& [capsule, json] : config.config) place_of(set.slots, capsule, "configuration");
  for (const auto& [capsule, state] : config.saved) place_of(set.slots, capsule, "saved state");
  for (const StreamGroup& group : config.groups)
    for (const auto& [capsule, json] : group.config)
      place_of(set.slots, capsule, "a group's configuration");
  check_recorded(config, compiled_plan);
  if (asks_for_slices(config)) check_configs(compiled_plan, config);
  draft.options = options_of(compiled_plan, config.options);
  draft.rules = rules_of(config, compiled_plan);
  check_pictures(compiled_plan, draft.rules, config.id);
  draft.rules.can_give_up = settings.can_give_up_calls;
  if (!asks_for_slices(config)) return draft;
  auto plan = plan_slices(config, access, compiled_plan, cores());
  if (auto* sliced = std::get_if<SlicedStream::Plan>(&plan))
    draft.slices = std::move(*sliced);
  else
    draft.rules.not_sliced = std::get<std::string>(std::move(plan));
  return draft;
}

/// Takes the source, the sinks and the draft.
std::shared_ptr<PipelineStream> Pipeline::Impl::make_stream(StreamConfig& config, Draft& draft) {
  if (draft.rules.deadline.count() > 0) watchdog.start();
  const StreamServices services{pool, watchdog, flights, trace};
  if (draft.slices)
    return std::make_shared<SlicedStream>(
        config.id, std::move(config.source), std::move(config.sinks), std::move(draft.rules),
        services, draft.compiled_plan, std::move(draft.options), *std::move(draft.slices));
  return std::make_shared<Stream>(config.id, std::move(config.source), std::move(config.sinks),
                                  std::move(draft.rules), services);
}

/// Starts all streams or none.
void Pipeline::Impl::start(std::vector<StreamConfig> configs) {
  // Without the lock, as in draft(): this may read whole files.
  std::vector<std::shared_ptr<const RandomAccess>> accesses;
  accesses.reserve(configs.size());
  for (const StreamConfig& config : configs)
    accesses.push_back(asks_for_slices(config) ? config.source->random_access() : nullptr);
  std::shared_ptr<const CapsuleSet> now;
  std::vector<Draft> drafts;
  std::vector<std::shared_ptr<PipelineStream>> prepared;
  // What is declared before the lock may be destroyed after it, with sources, sinks and capsules.
  MutexLock change(changing);
  while (now != capsules()) {  // at first, and whenever a capsule was replaced meanwhile
    const MutexUnlock unlock(changing);
    drafts.clear();
    now = capsules();
    for (std::size_t i = 0; i < configs.size(); ++i)
      drafts.push_back(draft(configs[i], accesses[i], *now));
  }
  std::set<std::string> ids;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (!ids.insert(configs[i].id).second || is_open(configs[i].id))
      refuse_duplicate(configs[i].id);
    prepared.push_back(make_stream(configs[i], drafts[i]));
    if (const std::shared_ptr<Stream> stream = prepared.back()->changeable())
      stream->init_route(std::move(drafts[i].compiled_plan), std::move(drafts[i].options));
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
  change.unlock();
  raise_places();
  for (const std::shared_ptr<PipelineStream>& stream : prepared)
    if (const std::string& why = stream->rules().not_sliced; !why.empty())
      log(LogLevel::info, "stream " + stream->id() + " is not cut into slices: " + why);
}

void Pipeline::Impl::enter(const std::shared_ptr<PipelineStream>& stream) {
  const MutexLock lock(mutex);
  if (settings.workers == 0) {
    std::size_t in_flight = std::min(stream->rules().frames_in_flight, kMostWorkers);
    for (const auto& [other, open] : streams)
      in_flight += std::min(open->rules().frames_in_flight, kMostWorkers);
    pool.raise_limit(automatic_workers(in_flight));
  }
  const auto place = streams.emplace(stream->id(), stream).first;
  // Under the lock: nobody may find a stream that does not start, and wait for its end.
  try {
    stream->start();
  } catch (...) {
    streams.erase(place);
    throw;
  }
}

}  // namespace vcap
